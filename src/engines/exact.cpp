#include "engines/exact.hpp"

#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

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
  if (!state.core->factorise(state.sites.precision))
    throw InvalidModel(
        "exact: the sites and the prior leave some weights undetermined; give the prior a Gaussian factor or add rows");
  state.point = state.core->mean(state.sites.shift);

  Report& report = state.report;
  report.iterations = 1;
  sites.log_density(state.point.eta, nullptr, &first);
  const LatentPoint again = state.core->mean(first + state.sites.precision.cwiseProduct(state.point.eta));
  report.residual = std::sqrt(std::max(0.0, state.core->slope(state.point, again, first)));
  report.tolerance = 1e-8;
  report.status = Status::converged;
  report.message = "closed form";
  const double objective = sites.total(state.point.eta) - 0.5 * state.core->inner(state.point, state.point);
  report.history.push_back({1, objective, report.residual, "closed form"});
  if (run.progress && run.progress(report.history.back()) == Next::discard) throw Interrupted();

  state.latent = {state.point.eta, state.core->variances()};
  state.log_evidence = {objective - state.core->half_log_det(), EvidenceKind::exact};
}

}  // namespace gaussmith
