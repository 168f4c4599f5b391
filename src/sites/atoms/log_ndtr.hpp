#pragma once
// f(x) = log Phi(x): the probit link.

#include "numerics/taylor3.hpp"
#include "sites/half_line.hpp"
#include "sites/ridge.hpp"

#include <cmath>

namespace gaussmith {

struct LogNdtrAtom {
  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    return log_ndtr(x);
  }

  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    log_ndtr_expectation(mean, variance, out);
  }

  [[nodiscard]] static bool can_tilt(double weight) { return weight == 1.0; }

  /// N(x | m, v) Phi(x): with z = m/sqrt(1 + v), log Z = log Phi(z) and the moments follow from those of N(z, 1) cut at
  /// zero. Left of zero the mean is written m/(1 + v) + ..., since m and v phi/Phi cancel there.
  [[nodiscard]] static AtomTilted tilted(double m, double v, double) {
    const double spread = std::sqrt(1.0 + v);
    const double z = m / spread;
    const HalfLineMoments half = half_line_moments(z);
    const double mean = z < 0.0 ? m / (1.0 + v) + v * half.mean / spread : m + v * mills(z) / spread;
    const double variance = v * (1.0 + v * half.variance) / (1.0 + v);
    return {log_ndtr(z), mean, variance, 0.0};
  }

  [[nodiscard]] static bool tilted_rule(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
    return log_ndtr_tilted(row, moments, nodes);
  }
};

}  // namespace gaussmith
