#include "engines/kl_family.hpp"

#include "gaussian/root_gaussian.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gaussmith {

void run_kl_family(const Kl& options, const KlCovariance& covariance, const Run& run,
                   std::shared_ptr<PriorGeometry> geometry, Posterior::State& state) {
  FamilyOptions how;
  how.tolerance = options.tolerance;
  how.max_iterations = options.max_iterations;
  how.seed = run.seed;
  how.starts = std::max(1, 2 * (options.starts - 1));  // Pairs, a direction and its opposite.
  how.basis = options.basis;
  if (run.warm_start != nullptr) how.warm = {run.warm_start->state().family.get(), &run.warm_start->sites()};
  FamilyFit fit = fit_family(state.model, covariance.family, how, state.threads, run.progress);

  Report& report = state.report;
  report.core = fmt::format("root of a constrained covariance, {}: {}", to_string(covariance.family),
                            memory_in_words(covariance.bytes));
  report.status = fit.status;
  report.local_optimum = fit.local_optimum;
  report.message = std::move(fit.message);
  if (!fit.concave && covariance.family.kind != FamilyKind::subspace)
    report.message += fmt::format(", best of {} starts{}", how.starts, fit.warm ? ", the first of them warm" : "");
  report.iterations = fit.iterations;
  report.residual = fit.residual;
  report.tolerance = options.tolerance;
  report.history = std::move(fit.history);

  state.sites.precision = -2.0 * fit.d_variance;
  state.sites.shift = fit.d_mean + state.sites.precision.cwiseProduct(fit.latent.mean);
  state.point = {fit.coordinates, fit.latent.mean};
  state.latent = fit.latent;
  state.log_evidence = {fit.bound, EvidenceKind::lower_bound};
  state.other = std::make_unique<RootGaussian>(std::move(geometry), fit.covariance);
  state.family = std::make_unique<const FamilyFit>(std::move(fit));
}

}  // namespace gaussmith
