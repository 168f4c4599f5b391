#include "engines/kl_family_start.hpp"

#include "families/fit_family.hpp"
#include "model/prior.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// The site form goes on from there: only the right optimum has to be found.
constexpr double start_tolerance = 1e-3;

}  // namespace

std::optional<KlFamilyStart> kl_family_start(const Kl& options, const Run& run, const Model& model, int threads,
                                             int& iterations) {
  const bool small = model.dimension() <= direct_dimension;
  if (!model.design.has_entries() || has_only_precision(model.prior) || (!small && has_dense_covariance(model.prior)))
    return {};
  FamilyOptions how;
  how.tolerance = std::max(options.tolerance, start_tolerance);
  how.max_iterations = options.max_iterations;
  how.seed = run.seed;
  how.starts = 2 * (options.starts - 1);
  how.basis = Basis::whitened;  // As the full family has it; where weights are independent it changes nothing.
  const auto fit = [&](FamilyKind kind) {
    FamilyFit out = fit_family(model, {kind}, how, threads, run.progress);
    iterations += out.report.iterations;
    return out;
  };
  FamilyFit best = fit(FamilyKind::diagonal);
  if (small && best.report.status != Status::stopped) {
    how.warm.root = EarlierRoot{best.covariance, best.coordinates, best.weight_mean};
    FamilyFit full = fit(FamilyKind::full);
    if (full.bound > best.bound) best = std::move(full);
  }
  if (best.report.status == Status::stopped || !std::isfinite(best.bound)) return {};
  return KlFamilyStart{best.latent.mean, -2.0 * best.d_variance, best.d_mean, best.bound};
}

}  // namespace gaussmith
