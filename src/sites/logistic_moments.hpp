#pragma once
// Moments of sigmoid(eta) for eta ~ N(m, v), from the expectation of its antiderivative softplus.

#include "numerics/expectations.hpp"

#include <algorithm>

namespace gaussmith {

/// E[s] and E[s (1 - s)] with s = sigmoid(eta): the derivatives of E[softplus] in m, and twice that in v.
struct LogisticMoments {
  double mean, slope;

  /// Var[s] = E[s] - E[s (1 - s)] - E[s]^2.
  [[nodiscard]] double variance() const { return std::max(0.0, mean * (1.0 - mean) - slope); }
};

[[nodiscard]] inline LogisticMoments logistic_moments(double m, double v) {
  double first = 0.0, half_second = 0.0;
  softplus_expectation({&m, 1}, {&v, 1}, {.value = {}, .d_mean = {&first, 1}, .d_variance = {&half_second, 1}});
  return {std::clamp(first, 0.0, 1.0), 2.0 * half_second};
}

}  // namespace gaussmith
