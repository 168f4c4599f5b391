#pragma once
// The truth where few dimensions are left: evidence, means and variances by quadrature, with an error.
//
// Directions that no row sees are integrated out by the coordinates (sampling/sampling_space.hpp), Gaussian rows in
// closed form where all others are three at most. What is left, three dimensions at most, goes through the trapezoidal
// rule in a box that holds all of the posterior but e^-32 of its height, at two step sizes; Student-t and Cauchy rows
// through the scale mixture N(y | eta, scale^2 / lambda), lambda ~ Gamma(nu / 2, nu / 2), whose integrand is smooth.

#include "gaussmith/infer.hpp"
#include "sampling/reference_gaussian.hpp"

#include <optional>

namespace gaussmith {

struct QuadratureTruth {
  double log_evidence = 0.0;
  double error = 0.0;  ///< Of log_evidence, from the two step sizes; of means in sds and of log sds about as much.
  Marginals latent, weights;  ///< Means and variances, stacked.
};

/// Nothing where more dimensions are left, or the reference is none of this model's. `reference` says where the
/// posterior is; only speed depends on it.
[[nodiscard]] std::optional<QuadratureTruth> integrate_few_dimensions(const Model& model,
                                                                      const ReferenceGaussian& reference, int threads);

}  // namespace gaussmith
