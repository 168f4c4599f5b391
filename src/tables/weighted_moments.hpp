#pragma once
// Means and standard deviations over rows, each as often as its weight says.

#include "gaussmith/types.hpp"

#include <cmath>

namespace gaussmith {

/// The mean; empty weights count every row once.
[[nodiscard]] inline double weighted_mean(const Vector& values, const Vector& weights) {
  return weights.size() > 0 ? weights.dot(values) / weights.sum() : values.mean();
}

/// The population standard deviation; 1 where it is rounding beside the values themselves.
[[nodiscard]] inline double weighted_sd(const Vector& values, const Vector& weights) {
  const Vector square = (values.array() - weighted_mean(values, weights)).square();
  const double sd = std::sqrt(weighted_mean(square, weights));
  return std::isfinite(sd) && sd > 1e-12 * values.cwiseAbs().maxCoeff() ? sd : 1.0;
}

}  // namespace gaussmith
