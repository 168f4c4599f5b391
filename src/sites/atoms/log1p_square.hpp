#pragma once
// f(x) = log(1 + x^2): Student-t and Cauchy.

#include "numerics/taylor3.hpp"
#include "sites/ridge.hpp"

#include <cmath>

namespace gaussmith {

struct Log1pSquareAtom {
  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    using std::log1p;
    return log1p(square(x));
  }

  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    log1p_square_expectation(mean, variance, out);
  }

  static constexpr double odd_slope = 0.0;

  /// log(1 + z).
  [[nodiscard]] static EvenPart even(double z) {
    const double r = 1.0 / (1.0 + z);
    return {std::log1p(z), r, -r * r};
  }

  [[nodiscard]] static bool tilted_rule(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
    return log1p_square_tilted(row, moments, nodes);
  }
};

}  // namespace gaussmith
