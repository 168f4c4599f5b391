#include "engines/laplace.hpp"

#include "engines/curvature_gradient.hpp"
#include "engines/engine_core.hpp"
#include "engines/mode_search.hpp"
#include "engines/variance_choice.hpp"
#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// What it may change variances by, relative; the same sum bounds both.
constexpr double largest_variance_error = 5e-4;

/// 1/2 V (f3 v), the shift of the means at the next order, in standard deviations: one product with V.
Vector predicted_shift(const GaussianCore& core, const SiteRows& sites, const RowMarginals& rows) {
  const Vector pull = 0.5 * sites.curvature_slope(rows.mean, rows.covariances());
  const Vector deviation = rows.variance.cwiseMax(0.0).cwiseSqrt();
  return (deviation.array() > 0.0).select(core.covariance_times(pull).cwiseQuotient(deviation), 0.0);
}

}  // namespace

void check_laplace(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.smooth)
      throw InvalidOption(
          fmt::format("the laplace method needs sites with derivatives, but sites[{}] (likelihood {}) has kinks or "
                      "jumps; use {}",
                      b, traits.name, traits.super_gaussian ? "ep, kl or vb" : "ep or kl"));
  }
}

void run_laplace(const Laplace& options, const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core =
      build_core(run, default_estimate(state.model.design.has_entries()), Estimates::where_needed, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  ModeSearch search(*core, sites, {"laplace", options.max_iterations, options.tolerance}, run, state.report);
  search.start_from(run.warm_start);
  search.climb();
  search.settle();
  const LatentPoint mode = search.now().point;
  // log Z = sum log t(m) - 1/2 a'K a - 1/2 log|I + K T|.
  const double log_evidence = search.now().objective - core->half_log_det().value;
  end_in_site_form(*core, sites,
                   {mode, log_evidence, {EvidenceKind::approximation, true}, false, search.no_step_helps()}, state);
  const double determinant_error = search.determinant_error(state.report.residual + state.report.mean_error);
  state.log_evidence.numerical_error += determinant_error;
  if (state.report.converged() && determinant_error > largest_variance_error) {
    state.report.status = Status::inaccurate;
    state.report.message = fmt::format(
        "the curvature changes so fast around the mode that variances are known to {:.1g} of themselves only",
        determinant_error);
  }
  if (core->width() == 1 && core->accuracy() == Accuracy::exact)
    state.mean_shift = predicted_shift(*core, sites, state.rows());
  state.gradient = [core, mode, &state] { return curvature_gradient(*core, mode, state); };
}

}  // namespace gaussmith
