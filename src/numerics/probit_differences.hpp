#pragma once
// Gaussian latents of a probit class as a product of normal distribution functions.

#include "numerics/ndtr_product.hpp"

namespace gaussmith {

/// The class `label` is observed where all x_j = f_label + e_label - f_j - e_j > 0, e ~ N(0, I). The smallest variance
/// of x, at least 1, makes each x_j > 0 a factor Phi; what is left of the covariance is in the other principal
/// directions. P = integral of N(z | 0, I) prod_j Phi(offset_j + loadings_j'z).
struct ProbitDifferences {
  Vector offset;    // C - 1 classes in order, in units of `scale`.
  Matrix loadings;  // (C - 1) x (C - 2), in units of `scale`.
  Matrix reach;     // C x (C - 1): covariance of f with x.
  double scale = 1.0;

  ProbitDifferences(Index classes, Index label, ConstSpan mean, ConstSpan covariance);
};

}  // namespace gaussmith
