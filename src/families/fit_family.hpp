#pragma once
// Gaussian-KL inference with a covariance of a given family (docs/engines/kl_families.md).

#include "families/ascent.hpp"
#include "gaussian/prior_geometry.hpp"
#include "gaussian/rounding_error.hpp"
#include "gaussian/site_gradient.hpp"
#include "gaussmith/infer.hpp"

#include <optional>

namespace gaussmith {

/// The Gaussian of an earlier fit.
struct EarlierRoot {
  CovarianceRoot covariance;
  Vector coordinates;  ///< The mean of w, or of u where covariance.whitened.
  Vector weight_mean;  ///< The mean of w.
};

/// What an earlier posterior offers to begin from; either may be missing.
struct FamilyStart {
  std::optional<EarlierRoot> root = {};      ///< Of one with a constrained covariance.
  const SiteApproximation* sites = nullptr;  ///< Of any with the same rows; lent.
};

struct FamilyOptions {
  double tolerance = 1e-7;        ///< On the residual: gradient norm in standard deviations of the step's model.
  double largest_gradient = 0.0;  ///< Stop also when no entry of the gradient in (m, C) exceeds this; 0 for never.
  int max_iterations = 1000;
  std::uint64_t seed = 0;
  int starts = 0;      ///< Where the bound is not concave; 0 takes 6 for factor analysis and other such models.
  int rotations = 60;  ///< Subspaces: how often at most the basis is chosen anew from the fitted precisions.
  Basis basis = Basis::weights;
  Ascent ascent = ascend;
  /// Where the bound is not concave it takes the place of the first of the starts.
  FamilyStart warm = {};
};

struct FamilyFit {
  CovarianceRoot covariance;
  Vector coordinates;         ///< The mean of w, or of u where covariance.whitened.
  Vector weight_mean;         ///< The mean of w.
  Marginals latent;           ///< eta at the model's rows.
  Vector d_mean, d_variance;  ///< Derivatives of E[log t_n] there.
  double bound = 0.0;
  bool warm = false;              ///< Begun from the earlier posterior.
  bool concave = true;            ///< False: the bound may be a local maximum (factor analysis, sites not log-concave).
  int products = 0;               ///< Gradients and Hessian products.
  double largest_gradient = 0.0;  ///< In (m, C) of the basis.
  RoundingError rounding;         ///< Of the bound and the moments.
  Report report;                  ///< See AscentResult.
};

/// Throws InvalidOption when the family or its basis does not suit the model. The model must be valid; the geometry is
/// that of the model, and is whitened where the family's coordinates are.
[[nodiscard]] FamilyFit fit_family(const Model& model, PriorGeometry& geometry, const CovarianceFamily& family,
                                   const FamilyOptions& options,
                                   const std::function<Next(const Iteration&)>& progress = {});
/// The same with a geometry of its own.
[[nodiscard]] FamilyFit fit_family(const Model& model, const CovarianceFamily& family, const FamilyOptions& options,
                                   int threads, const std::function<Next(const Iteration&)>& progress = {});

/// d bound / d log(parameter) for every learnable parameter, at the optimum; with the geometry that fit_family() had.
[[nodiscard]] ParameterGradient family_gradient(const Model& model, const PriorGeometry& geometry,
                                                const FamilyFit& fit);

}  // namespace gaussmith
