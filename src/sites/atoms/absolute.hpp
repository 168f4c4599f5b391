#pragma once
// f(x) = |x|: the Laplace distribution.

#include "numerics/taylor3.hpp"
#include "sites/half_line.hpp"
#include "sites/ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace gaussmith {

struct AbsoluteAtom {
  static constexpr double degree = 1.0;
  static constexpr bool kink_at_zero = true;

  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    using std::abs;
    return abs(x);
  }

  /// E|x| = s sqrt(2/pi) e^(-a^2/2) + m (1 - 2 Phi(-a)), a = m/s; dE/dm = 1 - 2 Phi(-a), dE/dv = phi(a)/s.
  /// Zero variance gives the one-sided derivatives of |x|, and dE/dv = 0.
  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double m = mean[i];
      const double s = std::sqrt(variance[i]);
      double value = std::abs(m), first = m < 0.0 ? -1.0 : 1.0, half_second = 0.0;
      if (s > 0.0) {
        const double a = m / s;
        const double density = std::exp(-0.5 * a * a) / std::sqrt(2.0 * std::numbers::pi);
        first = std::erf(a / std::numbers::sqrt2);
        half_second = density / s;
        value = 2.0 * s * density + m * first;
      }
      if (!out.value.empty()) out.value[i] = value;
      if (!out.d_mean.empty()) out.d_mean[i] = first;
      if (!out.d_variance.empty()) out.d_variance[i] = half_second;
    }
  }

  /// Slopes -k and k at the ends: |slope| <= k, growth <= 2 k phi(Phi^-1((1 + slope/k)/2)). k E|x| is homogeneous of
  /// degree one in mean and deviation, so that its conjugate is 0 there, attained at 0, and infinite elsewhere.
  [[nodiscard]] static double conjugate_limit(double slope, double k) {
    return growth_limit(0.5 * (1.0 + slope / k), 2.0 * k);
  }
  [[nodiscard]] static AtomConjugate conjugate(double slope, double growth, double k) {
    const bool inside = growth <= conjugate_limit(slope, k);
    return {inside ? 0.0 : std::numeric_limits<double>::infinity(), 0.0, 0.0};
  }

  static constexpr double odd_slope = 0.0;

  /// sqrt(z). The derivatives are infinite at 0; z is raised to 1e-200 for them, which keeps them finite.
  [[nodiscard]] static EvenPart even(double z) {
    const double root = std::sqrt(std::max(z, 1e-200));
    return {std::sqrt(z), 0.5 / root, -0.25 / (root * root * root)};
  }

  [[nodiscard]] static bool can_tilt(double weight) { return weight < 0.0; }

  /// N(x | m, v) exp(-k |x|), k = -weight: two normals, N(m - k v, v) on x > 0 and N(m + k v, v) on x < 0, each cut off
  /// at zero. Their masses are compared in logarithms; every sum below has terms of one sign (but for the mean's), so
  /// nothing cancels in the tails.
  [[nodiscard]] static AtomTilted tilted(double m, double v, double weight) {
    const double k = -weight;
    const double s = std::sqrt(v);
    const double log_right = log_mass(m, s, k);
    const double log_left = log_mass(-m, s, k);
    const HalfLineMoments right = half_line_moments(m / s - k * s);
    const HalfLineMoments left = half_line_moments(-m / s - k * s);
    const double share_right = sigmoid(log_right - log_left);
    const double share_left = sigmoid(log_left - log_right);
    const double expected = s * (share_right * right.mean + share_left * left.mean);
    const double gap = right.mean + left.mean;
    const double variance =
        v * (share_right * right.variance + share_left * left.variance + share_right * share_left * gap * gap);
    const double log_normaliser = std::max(log_right, log_left) + softplus(-std::abs(log_right - log_left));
    return {log_normaliser, s * (share_right * right.mean - share_left * left.mean), variance, expected};
  }

 private:
  // log of the integral over x > 0 of N(x | m, s^2) e^(-k x) = e^(-k m + k^2 s^2/2) Phi(t), t = m/s - k s. For t < 0
  // the exponent and log Phi cancel; then e^(t^2/2) Phi(t) = erfcx(-t/sqrt(2))/2 leaves e^(-m^2/(2 s^2)).
  [[nodiscard]] static double log_mass(double m, double s, double k) {
    const double a = m / s;
    const double t = a - k * s;
    if (t < 0.0) {
      return -0.5 * a * a + std::log(0.5 * erfcx(-t / std::numbers::sqrt2));
    }
    return -k * (m - 0.5 * k * s * s) + log_ndtr(t);
  }
};

}  // namespace gaussmith
