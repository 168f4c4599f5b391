#pragma once
// f(x) = x^2: the Gaussian.

#include "numerics/taylor3.hpp"
#include "sites/ridge.hpp"

#include <cmath>

namespace gaussmith {

struct SquareAtom {
  static constexpr double degree = 2.0;

  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    return square(x);
  }

  /// E[x^2] = mean^2 + variance.
  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      if (!out.value.empty()) out.value[i] = mean[i] * mean[i] + variance[i];
      if (!out.d_mean.empty()) out.d_mean[i] = 2.0 * mean[i];
      if (!out.d_variance.empty()) out.d_variance[i] = 1.0;
    }
  }

  /// Of k (m^2 + s^2): (slope^2 + growth^2)/(4 k).
  [[nodiscard]] static AtomConjugate conjugate(double slope, double growth, double k) {
    return {(slope * slope + growth * growth) / (4.0 * k), slope / (2.0 * k), growth / (2.0 * k)};
  }

  static constexpr double odd_slope = 0.0;
  [[nodiscard]] static EvenPart even(double z) { return {z, 1.0, 0.0}; }

  [[nodiscard]] static bool can_tilt(double weight) { return weight < 0.0; }

  /// N(x | m, v) exp(-p x^2/2), p = -2 weight: variance v/(1 + v p), mean m/(1 + v p).
  [[nodiscard]] static AtomTilted tilted(double m, double v, double weight) {
    const double p = -2.0 * weight;
    const double shrink = 1.0 / (1.0 + v * p);
    const double mean = m * shrink;
    const double variance = v * shrink;
    return {-0.5 * std::log1p(v * p) - 0.5 * p * m * mean, mean, variance, mean * mean + variance};
  }
};

}  // namespace gaussmith
