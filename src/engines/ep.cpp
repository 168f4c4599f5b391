#include "engines/ep.hpp"

#include "engines/engine_core.hpp"
#include "engines/ep_nested.hpp"
#include "engines/ep_plan.hpp"
#include "engines/explicit_gradient.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

namespace {

Status status_of(StageEnd end) {
  switch (end) {
    case StageEnd::converged:
    case StageEnd::rounding:
      return Status::converged;
    case StageEnd::limit:
      return Status::iteration_limit;
    case StageEnd::stopped:
      return Status::stopped;
    default:
      return Status::stalled;
  }
}

/// Sites by E[d log t] under the tilted distributions.
ParameterGradient ep_gradient(const GaussianCore& core, const LatentPoint& mean, double power,
                              const Posterior::State& state) {
  const SiteRows sites(state.model, state.threads);
  const Marginals cavity = row_cavities(state.rows(), state.sites.precision, sites, power);
  return explicit_gradient(core, mean, state, [&](const SiteBlock& block, Index row, int parameter) {
    double sum = 0.0;
    for (Index i = 0; i < block.size(); ++i) {
      const Index n = row + i;
      const double m = state.rows().mean(n);
      const double v = state.rows().variance(n);
      double value = 0.0;
      if (cavity.variance(n) > 0.0 && std::isfinite(cavity.variance(n)) && std::isfinite(cavity.mean(n)))
        block.parameter_tilted(i, parameter, ConstSpan(&cavity.mean(n), 1), ConstSpan(&cavity.variance(n), 1),
                               sites.exponent(n, power), Span(&value, 1));
      else if (v > 0.0)  // An improper cavity at the end of a run that did not converge.
        block.parameter_expectation(i, parameter, ConstSpan(&m, 1), ConstSpan(&v, 1), Span(&value, 1));
      else  // A row that no site can move.
        block.parameter_derivatives(i, parameter, ConstSpan(&m, 1), {Span(&value, 1), {}, {}});
      sites.weigh(n, Span(&value, 1));
      sum += value;
    }
    return sum;
  });
}

void describe_end(StageEnd end, const EpSearch& search, const EpState& q, const Ep& options, Report& report) {
  report.residual = q.mismatch;
  if (end == StageEnd::rounding) {
    report.tolerance = search.rounding();
    report.warnings.push_back(
        fmt::format("ill-conditioned: rounding hides mismatches below {:.1e}, more than the tolerance {:.1e}",
                    report.tolerance, options.tolerance));
  }
  report.status = status_of(end);
  report.message = report.converged() ? fmt::format("tilted and marginal moments match after {} sweep{}",
                                                    report.iterations, report.iterations == 1 ? "" : "s")
                                      : std::string(reason(end));
  if (q.inaccurate > 0)
    report.warnings.push_back(
        fmt::format("the tilted moments of {} site{} are less accurate than 1e-9: quadrature did "
                    "not reach its goal",
                    q.inaccurate, q.inaccurate == 1 ? "" : "s"));
  report.substituted = search.power() < options.power;
}

}  // namespace

void run_ep(const Ep& options, const Run& run, Posterior::State& state) {
  if (state.model.latents.count > 1) return run_ep_nested(options, run, state);
  run_ep_on(build_core(run, state), options, run, state);
}

void run_ep_on(const std::shared_ptr<GaussianCore>& core, const Ep& options, const Run& run, Posterior::State& state) {
  const SiteRows sites(state.model, state.threads);
  Report& report = state.report;
  report.tolerance = options.tolerance;
  EpSearch search(*core, sites, options, run, report);
  search.start_from(run.warm_start);
  const EpProblem problem{state.model, *core, sites, run, state.threads};
  const StageEnd end = EpPlan(search, problem, options, report).run();
  const EpState& q = search.settle();
  describe_end(end, search, q, options, report);
  end_in_site_form(*core, sites, {q.point, q.log_evidence, {EvidenceKind::approximation, true}, true, false}, state);
  // The method that was run: a power lowered on the way is part of it.
  const double power = search.power();
  std::get<Ep>(state.method).power = power;
  state.gradient = [core, mean = q.point, power, &state] { return ep_gradient(*core, mean, power, state); };
}

}  // namespace gaussmith
