#include "engines/kl_family.hpp"

#include "base/memory.hpp"
#include "engines/evidence_kind.hpp"
#include "engines/rounding_claim.hpp"
#include "engines/support_check.hpp"
#include "families/fit_family.hpp"
#include "gaussian/root_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

FamilyStart warm_start(const Posterior* warm) {
  FamilyStart start;
  if (warm == nullptr) return start;
  start.sites = &warm->site_approximation();
  if (const auto* law = dynamic_cast<const RootLaw*>(warm->state().law.get()))
    start.root = EarlierRoot{law->covariance(), law->coordinates(), warm->weights().mean};
  return start;
}

FamilyOptions family_options(const Kl& options, const Run& run) {
  FamilyOptions out;
  out.tolerance = options.tolerance;
  out.max_iterations = options.max_iterations;
  out.seed = run.seed;
  out.starts = std::max(1, 2 * (options.starts - 1));  // Pairs, a direction and its opposite.
  out.basis = options.basis;
  out.warm = warm_start(run.warm_start);
  return out;
}

/// 1 - tau v and nu - tau m of every row; the site is divided out of the row's own marginal.
RowMarginals row_marginals(const FamilyFit& fit, const SiteApproximation& sites) {
  Vector share = 1.0 - sites.precision.array() * fit.latent.variance.array();
  return {fit.latent, std::move(share), fit.d_mean};
}

}  // namespace

void run_kl_family(const Kl& options, const KlCovariance& covariance, const Run& run, Posterior::State& state) {
  check_rows(covariance.family, state.model.design);
  const auto geometry = std::make_shared<PriorGeometry>(state.model.prior, state.model.design, state.threads);
  Vector centre = geometry->row_mean();
  if (state.model.offset.size() > 0) centre += state.model.offset;
  check_support(centre, geometry->row_variances(), SiteRows(state.model, state.threads));
  const FamilyOptions how = family_options(options, run);
  auto fit = std::make_shared<FamilyFit>(fit_family(state.model, *geometry, covariance.family, how, run.progress));

  Report& report = state.report;
  report = std::move(fit->report);
  report.core = fmt::format("root of a constrained covariance, {}: {}", to_string(covariance.family),
                            memory_in_words(covariance.bytes));
  if (!fit->concave && covariance.family.kind != FamilyKind::subspace)
    report.message += fmt::format(", best of {} starts{}", how.starts, fit->warm ? ", the first of them warm" : "");
  report.tolerance = options.tolerance;
  judge_rounding(fit->rounding, report.status == Status::stalled, report);

  state.sites.precision = -2.0 * fit->d_variance;
  state.sites.shift = fit->d_mean + state.sites.precision.cwiseProduct(fit->latent.mean);
  state.law = std::make_unique<RootLaw>(geometry, fit->covariance, fit->coordinates);
  state.law->know_rows(row_marginals(*fit, state.sites), state.sites);
  const double error = summation_error(SiteRows(state.model, state.threads), fit->latent.mean, std::abs(fit->bound),
                                       report.residual, true);
  state.log_evidence = {fit->bound, EvidenceKind::lower_bound, {}, fit->rounding.log_evidence + error};
  state.gradient_error = fit->rounding.gradient;
  state.gradient = [fit, geometry, &state] { return family_gradient(state.model, *geometry, *fit); };
}

}  // namespace gaussmith
