#pragma once
// One fit of a model and of measurements of its weights, by any method that ends in a Gaussian.

#include "gaussmith/infer.hpp"
#include "measurement/measured_core.hpp"

#include <memory>
#include <optional>

namespace gaussmith {

/// What a fit leaves for the design: q(w) = N(mean, covariance).
struct MeasuredFit {
  std::optional<Posterior> posterior;  ///< Empty where the Gaussian alone was made again.
  Vector mean;
  std::shared_ptr<const Matrix> covariance;  ///< V, both triangles.
  Marginals latent;                          ///< Of the sites' own rows.
  SiteApproximation sites;                   ///< The same.
};

/// Whether the measurements can be a part of the Gaussian factor, so that engines see the sites alone. Otherwise they
/// are rows with Gaussian sites below those of the model, and V is made of the posterior's law.
[[nodiscard]] bool suits_measured_core(const Model& model, const Method& method, const Run& run);

/// From sites that the model's own rows have already, as far as there are any.
[[nodiscard]] MeasuredFit fit_measured(const Model& model, const std::shared_ptr<const MeasuredRows>& measured,
                                       const Method& method, const SiteApproximation& start, const Run& run);

/// The Gaussian of sites that a fit ended at, by one factorisation and bit for bit that of the fit; nothing for methods
/// whose Gaussian is not made of sites and measurements.
[[nodiscard]] std::optional<MeasuredFit> gaussian_at(const Model& model,
                                                     const std::shared_ptr<const MeasuredRows>& measured,
                                                     const Method& method, const SiteApproximation& sites,
                                                     const Run& run);

/// Where a fit may begin whose marginals are about these: the sites that kl or vb give to them, if all are log-concave,
/// else the sites as they are.
[[nodiscard]] SiteApproximation sites_near(const Model& model, const Method& method, const Marginals& latent,
                                           const SiteApproximation& sites, int threads);

/// The model with a Gaussian site for each measurement below its own rows.
[[nodiscard]] Model with_measurements(const Model& model, const MeasuredRows& measured);

}  // namespace gaussmith
