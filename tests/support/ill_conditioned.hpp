#pragma once
// Seeded ill-conditioned models with Gaussian sites and their posterior to sixty digits: collinear columns under wide
// priors, raw polynomials, duplicate and nearly duplicate inputs, smooth kernels with tiny noise, scales far apart.

#include "gaussmith/model.hpp"
#include "support/precise.hpp"

#include <functional>
#include <string>

namespace gaussmith::testing {

/// A kernel of the library and the same one to sixty digits, for parameters given as logarithms that are added to its
/// own (in the order of the kernel's parameters).
using PreciseKernel = std::function<Precise(const Vector& x, const Vector& z, const PreciseVector& log_changes)>;

struct IllConditioned {
  std::string name;  ///< What makes it so.
  Model model;
  Vector y, noise;       ///< Of the sites, N(y | eta, noise).
  PreciseKernel kernel;  ///< Of a process; empty otherwise.
};

/// What a model's prior says about rows and weights, to sixty digits, with logarithms of its parameters changed.
struct PrecisePrior {
  PreciseMatrix rows;             ///< K = H Sigma H'.
  PreciseMatrix weights_rows;     ///< Sigma H'.
  PreciseVector weight_variance;  ///< diag Sigma.
  Precise mean;                   ///< Of every row and weight.
};
PrecisePrior precise_prior(const IllConditioned& problem, const PreciseVector& log_changes = PreciseVector(3, 0));

/// The kind is seed modulo the number of kinds; everything else is drawn from the seed.
IllConditioned ill_conditioned(std::uint64_t seed);

struct GaussianTruth {
  Precise log_evidence;
  PreciseVector latent_mean, latent_variance;
  PreciseVector weight_mean, weight_variance;
  /// d log evidence / d log(parameter) by the model's names: kernel parameters or prior.variance.
  std::map<std::string, double> gradient;
  double log10_condition;  ///< About that of I + T^1/2 K T^1/2: the largest entry of T^1/2 K T^1/2.
};

GaussianTruth gaussian_truth(const IllConditioned& problem);

}  // namespace gaussmith::testing
