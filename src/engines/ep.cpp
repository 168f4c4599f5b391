#include "engines/ep.hpp"

#include "engines/engine_core.hpp"
#include "engines/ep_search.hpp"
#include "engines/explicit_gradient.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace gaussmith {

namespace {

constexpr double milder_damping = 0.4;
/// Shares of the power asked for, tried in turn as the last resort.
constexpr std::array lower_powers = {0.9, 0.8, 0.65, 0.5, 0.35, 0.2};

/// The plan of ep.mode = auto: what is cheap first, what is guaranteed later, another problem last.
class Plan {
 public:
  Plan(EpSearch& search, const Ep& options, bool substitutes, Report& report)
      : search_(search), options_(options), substitutes_(substitutes), report_(report) {}

  StageEnd run() {
    switch (options_.mode) {
      case EpMode::parallel:
        return search_.parallel(options_.damping);
      case EpMode::sequential:
        return search_.sequential(options_.damping);
      case EpMode::double_loop:
        return double_loop(options_.max_iterations);
      case EpMode::automatic:
        break;
    }
    StageEnd end = at_one_power(!substitutes_ || options_.min_power >= options_.power);
    const EpState best = search_.best();
    for (const double share : lower_powers) {
      const double to = share * options_.power;
      if (final(end) || !substitutes_ || to < options_.min_power) break;
      note(fmt::format("power {:.2g}", search_.power()), fmt::format("power {:.2g}", to), end);
      search_.set_power(to);
      end = at_one_power(share == lower_powers.back());
    }
    if (!final(end)) search_.restore(best, options_.power);
    if (search_.power() < options_.power)
      report_.warnings.push_back(
          fmt::format("the power was lowered from {:g} to {:.2g}: the posterior is that of power EP", options_.power,
                      search_.power()));
    return end;
  }

 private:
  [[nodiscard]] static bool final(StageEnd end) {
    return end == StageEnd::converged || end == StageEnd::rounding || end == StageEnd::limit ||
           end == StageEnd::stopped;
  }

  /// `last`: there is no further power to keep sweeps for.
  StageEnd at_one_power(bool last) {
    StageEnd end = search_.parallel(options_.damping);
    if (final(end)) return end;
    note("parallel", "damped", end);
    search_.return_to_best();
    end = search_.parallel(milder_damping * options_.damping);
    if (final(end)) return end;
    note("damped", "sequential", end);
    search_.return_to_best();
    end = search_.sequential(options_.damping);
    if (final(end)) return end;
    note("sequential", "double loop", end);
    const int left = options_.max_iterations - report_.iterations;
    return double_loop(last ? left : left / 5);
  }

  /// The guaranteed loop far from the fixed point, cheap sweeps near it; without them if they do not converge.
  StageEnd double_loop(int most_sweeps) {
    const int last_sweep = report_.iterations + most_sweeps;
    search_.start_at_power(0.5 * search_.power(), milder_damping * options_.damping);
    for (const double until : {1e-1, 1e-2, 1e-3, 0.0}) {
      StageEnd end = search_.double_loop(until, last_sweep);
      if (end != StageEnd::close) return end;
      end = search_.parallel(milder_damping * options_.damping);
      if (final(end)) return end;
      search_.return_to_best();
    }
    return StageEnd::not_falling;
  }

  void note(std::string_view from, std::string_view to, StageEnd end) {
    report_.notes.push_back(fmt::format("sweep {}: {} -> {}, because {} (mismatch {:.1e})", report_.iterations, from,
                                        to, reason(end), search_.best().mismatch));
  }

  EpSearch& search_;
  const Ep& options_;
  bool substitutes_;
  Report& report_;
};

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

}  // namespace

namespace {

/// Sites by E[d log t] under the tilted distributions.
ParameterGradient ep_gradient(const GaussianCore& core, const LatentPoint& mean, double power,
                              const Posterior::State& state) {
  const Marginals cavity = cavities(state.rows(), state.sites.precision, power);
  return explicit_gradient(core, mean, state, [&](const SiteBlock& block, Index row, int parameter) {
    double sum = 0.0;
    for (Index i = 0; i < block.size(); ++i) {
      const Index n = row + i;
      const double m = state.rows().mean(n);
      const double v = state.rows().variance(n);
      double value = 0.0;
      if (cavity.variance(n) > 0.0 && std::isfinite(cavity.variance(n)) && std::isfinite(cavity.mean(n)))
        block.parameter_tilted(i, parameter, ConstSpan(&cavity.mean(n), 1), ConstSpan(&cavity.variance(n), 1), power,
                               Span(&value, 1));
      else if (v > 0.0)  // An improper cavity at the end of a run that did not converge.
        block.parameter_expectation(i, parameter, ConstSpan(&m, 1), ConstSpan(&v, 1), Span(&value, 1));
      else  // A row that no site can move.
        block.parameter_derivatives(i, parameter, ConstSpan(&m, 1), {Span(&value, 1), {}, {}});
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
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  const SiteRows sites(state.model.sites, state.threads);
  Report& report = state.report;
  report.tolerance = options.tolerance;
  EpSearch search(*core, sites, options, run, report);
  search.start_from(run.warm_start);
  const StageEnd end = Plan(search, options, run.substitutes, report).run();
  const EpState& q = search.settle();
  describe_end(end, search, q, options, report);
  end_in_site_form(*core, sites, {q.point, q.log_evidence, {EvidenceKind::approximation, true}, true}, state);
  // The method that was run: a power lowered on the way is part of it.
  const double power = search.power();
  std::get<Ep>(state.method).power = power;
  state.gradient = [core, mean = q.point, power, &state] { return ep_gradient(*core, mean, power, state); };
}

}  // namespace gaussmith
