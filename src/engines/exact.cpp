#include "engines/exact.hpp"

#include "base/progress.hpp"
#include "engines/curvature_gradient.hpp"
#include "engines/engine_core.hpp"
#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Gradient norm, in posterior standard deviations, that rounding may leave.
constexpr double closed_form_tolerance = 1e-8;
constexpr int most_refinements = 4;

}  // namespace

void check_exact(const Model& model) {
  const bool smooth =
      std::all_of(model.sites.begin(), model.sites.end(), [](const Sites& block) { return block->traits().smooth; });
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.gaussian)
      throw InvalidOption(fmt::format("exact needs gaussian sites, but sites[{}] is {}; use {}", b, traits.name,
                                      smooth ? "laplace" : "ep or kl"));
  }
}

void run_exact(const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core = build_core(run, state);
  const SiteRows sites(state.model, state.threads);
  Vector first;
  Vector second;
  const LatentPoint centre = core->centre();
  sites.log_density(centre.eta, nullptr, &first, &second);
  const Vector precision = -second;
  if (!core->set({precision, first + precision.cwiseProduct(centre.eta)}))
    throw InvalidModel("exact: " + why_not_factorised(*core));
  LatentPoint mean = core->mean();

  Report& report = state.report;
  report.tolerance = closed_form_tolerance;
  // The closed form is one Newton step; in an ill-conditioned problem another one refines what rounding left of it.
  for (report.iterations = 1;; ++report.iterations) {
    sites.log_density(mean.eta, nullptr, &first);
    LatentPoint again = core->mean(first + precision.cwiseProduct(mean.eta));
    report.residual = std::sqrt(std::abs(core->slope(mean, again, first)));
    if (report.residual <= report.tolerance || report.iterations == most_refinements) break;
    mean = std::move(again);
  }
  report.status = report.residual <= report.tolerance ? Status::converged : Status::stalled;
  report.message = report.converged() ? "closed form"
                                      : "closed form, but rounding leaves a gradient: the problem is ill-conditioned";
  const double objective = sites.total(mean.eta) - 0.5 * core->inner(mean, mean);
  Progress(run.progress, &report.history).tell({report.iterations, objective, report.residual, "closed form"});

  end_in_site_form(*core, sites,
                   {mean, objective - core->half_log_det().value, {EvidenceKind::approximation, true}, false, true},
                   state);
  state.gradient = [core, mean, &state] { return curvature_gradient(*core, mean, state); };
}

}  // namespace gaussmith
