#pragma once
// f(x) = log(1 + e^x): the logistic families.

#include "numerics/taylor3.hpp"
#include "sites/ridge.hpp"

#include <cmath>

namespace gaussmith {

struct SoftplusAtom {
  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    return softplus(x);
  }

  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    softplus_expectation(mean, variance, out);
  }

  /// Slopes 0 and k at the ends: 0 <= slope <= k, growth <= k phi(Phi^-1(slope/k)); at slope = k/2 k/sqrt(2 pi).
  [[nodiscard]] static double conjugate_limit(double slope, double k) { return growth_limit(slope / k, k); }

  static constexpr double odd_slope = 0.5;

  /// log(2 cosh(sqrt(z)/2)): at z = 0 {log 2, 1/8, -1/192}.
  [[nodiscard]] static EvenPart even(double z) {
    const double s = std::sqrt(z);
    const double h = 0.5 * s;
    const double value = h + std::log1p(std::exp(-s));
    const double q = 0.25 * z;
    if (q < 1e-3) {
      // tanh(h)/h in powers of q = h^2; the closed form of the second derivative loses h^3 digits.
      const double first = (1.0 - q * (1.0 / 3.0 - q * (2.0 / 15.0 - q * (17.0 / 315.0 - q * 62.0 / 2835.0)))) / 8.0;
      const double second =
          -(1.0 / 3.0 - q * (4.0 / 15.0 - q * (17.0 / 105.0 - q * (248.0 / 2835.0 - q * 1382.0 / 31185.0)))) / 32.0;
      return {value, first, second};
    }
    const double tanh_h = std::tanh(h);
    const double sech_squared = (1.0 - tanh_h) * (1.0 + tanh_h);
    return {value, tanh_h / (4.0 * s), (h * sech_squared - tanh_h) / (8.0 * s * z)};
  }

  [[nodiscard]] static bool tilted_rule(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
    return softplus_tilted(row, moments, nodes);
  }
};

}  // namespace gaussmith
