#include "engines/engine_core.hpp"

#include "base/memory.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

std::string memory_way_out(const Model& model, CoreForm form) {
  if (form == CoreForm::covariance)
    return fmt::format("it grows with the square of the {} rows: take fewer of them", model.rows());
  return fmt::format("it grows with the square of the {} weights: take fewer of them{}", model.dimension(),
                     model.design.has_entries() ? ", or kl with kl.covariance=diagonal" : "");
}

std::shared_ptr<GaussianCore> build_core(const Run& run, Posterior::State& state) {
  const FormChoice choice = choose_form(state.model, run.form);
  const double bytes = model_memory(state.model) + core_memory(state.model, choice.form);
  if (bytes > machine_memory())
    throw InvalidOption(fmt::format("{} needs about {} for this model, more than the {} of this machine; {}",
                                    name_of(state.method), memory_in_words(bytes), memory_in_words(machine_memory()),
                                    memory_way_out(state.model, choice.form)));
  state.report.core = choice.reason;
  return make_core(state.model, choice.form, state.threads);
}

namespace {

/// Claims of a converged run: means to this part of a standard deviation, variances relative.
constexpr double moment_claim = 1e-3;
/// The estimates of rounding are good to a factor of a few.
constexpr double safety = 4.0;
/// A residual within this multiple of what rounding leaves uncertain is rounding, not an unfinished search.
constexpr double explained = 2.0;

/// Whether the report may claim convergence: a search that ends where rounding hides the rest has reached its end, and
/// no claim holds where rounding may have moved the answer too far.
void judge(const RoundingError& rounding, Report& report) {
  const double hidden = explained * rounding.largest_moment();
  const bool ended = report.status == Status::stalled || report.status == Status::iteration_limit;
  const bool rightly_converged = safety * std::max(rounding.largest_moment(), report.residual) <= moment_claim;
  if (ended && report.residual <= hidden && rightly_converged) {
    report.status = Status::converged;
    report.tolerance = hidden;
    report.message = "as far as double precision goes";
    report.warnings.push_back(fmt::format(
        "ill-conditioned: rounding hides residuals below {:.1e}, more than the tolerance asked for", hidden));
  } else if (report.converged() && !rightly_converged) {
    report.status = Status::inaccurate;
    report.message = fmt::format(
        "rounding may have moved means by {:.1g} standard deviations and variances by {:.1g} of themselves: the "
        "problem "
        "is too ill-conditioned for double precision (nearly equal rows or columns, or scales too far apart)",
        rounding.mean, rounding.variance);
  }
}

}  // namespace

void end_in_site_form(GaussianCore& core, const SiteRows& sites, const SiteFormEnd& end, Posterior::State& state) {
  state.sites = core.sites();
  RowMarginals rows = core.marginals(end.mean);
  state.law = core.law(end.mean);
  state.law->know_rows(std::move(rows), state.sites.precision);

  Report& report = state.report;
  const RoundingError rounding = core.rounding_error(end.mean);
  report.mean_error = rounding.mean;
  report.variance_error = rounding.variance;
  state.gradient_error = rounding.gradient;
  judge(rounding, report);
  state.log_evidence =
      make_evidence(end.log_evidence, core, evidence_kind(end.method, core.accuracy(), sites, report.converged()));
  const double parts = std::abs(core.half_log_det().value) + 0.5 * std::abs(core.inner(end.mean, end.mean));
  state.log_evidence.numerical_error =
      rounding.log_evidence +
      summation_error(sites, end.mean.eta, parts + std::abs(end.log_evidence), report.residual, end.quadrature);
}

}  // namespace gaussmith
