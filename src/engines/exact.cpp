#include "engines/exact.hpp"

#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

namespace {

/// Gradient norm, in posterior standard deviations, that rounding may leave.
constexpr double closed_form_tolerance = 1e-8;
constexpr int most_refinements = 4;

}  // namespace

void check_exact(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.gaussian)
      throw InvalidOption(fmt::format("exact needs gaussian sites, but sites[{}] is {}; use laplace", b, traits.name));
  }
}

void run_exact(const Run& run, Posterior::State& state) {
  const SiteRows sites(state.model.sites, state.threads);
  Vector first;
  Vector second;
  const LatentPoint centre = state.core->centre();
  sites.log_density(centre.eta, nullptr, &first, &second);
  state.sites.precision = -second;
  state.sites.shift = first + state.sites.precision.cwiseProduct(centre.eta);
  if (!state.core->factorise(state.sites.precision)) throw InvalidModel("exact: " + why_not_factorised(*state.core));
  state.point = state.core->mean(state.sites.shift);

  Report& report = state.report;
  report.tolerance = closed_form_tolerance;
  // The closed form is one Newton step; in an ill-conditioned problem another one refines what rounding left of it.
  for (report.iterations = 1;; ++report.iterations) {
    sites.log_density(state.point.eta, nullptr, &first);
    LatentPoint again = state.core->mean(first + state.sites.precision.cwiseProduct(state.point.eta));
    report.residual = std::sqrt(std::abs(state.core->slope(state.point, again, first)));
    if (report.residual <= report.tolerance || report.iterations == most_refinements) break;
    state.point = std::move(again);
  }
  report.status = report.residual <= report.tolerance ? Status::converged : Status::stalled;
  report.message = report.converged() ? "closed form"
                                      : "closed form, but rounding leaves a gradient: the problem is ill-conditioned";
  const double objective = sites.total(state.point.eta) - 0.5 * state.core->inner(state.point, state.point);
  report.history.push_back({report.iterations, objective, report.residual, "closed form"});
  if (run.progress && run.progress(report.history.back()) == Next::discard) throw Interrupted();

  state.latent = {state.point.eta, state.core->variances(&state.slack)};
  state.log_evidence = {objective - state.core->half_log_det(), EvidenceKind::exact};
}

}  // namespace gaussmith
