#pragma once
// f(x) = e^x, capped: rates and means that are exponential in eta.

#include "numerics/taylor3.hpp"
#include "sites/ridge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

/// e^min(x, 700): beyond 1e304 a log density is "impossible" whatever its digits, and a finite number keeps line
/// searches and sums free of Inf and NaN.
[[nodiscard]] inline double capped_exp(double x) { return std::exp(std::min(x, 700.0)); }

/// The cap stops the value only, so that derivatives keep their sign.
[[nodiscard]] inline Dual capped_exp(const Dual& x) {
  const double e = capped_exp(x.value);
  return {e, e * x.derivative};
}
template <class S>
[[nodiscard]] Taylor<S> capped_exp(const Taylor<S>& x) {
  const S e = capped_exp(x.value);
  return compose(x, e, e, e, e);
}

struct ExponentialAtom {
  template <class Real>
  [[nodiscard]] static Real value(const Real& x) {
    return capped_exp(x);
  }

  /// E[e^x] = e^(mean + variance/2).
  static void expectation(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double e = capped_exp(mean[i] + 0.5 * variance[i]);
      if (!out.value.empty()) out.value[i] = e;
      if (!out.d_mean.empty()) out.d_mean[i] = e;
      if (!out.d_variance.empty()) out.d_variance[i] = 0.5 * e;
    }
  }

  /// Of k e^(m + s^2/2): slope (log(slope/k) - 1) + growth^2/(2 slope), at s = growth/slope. At slope = growth = 0 it
  /// is 0, which nothing attains.
  [[nodiscard]] static AtomConjugate conjugate(double slope, double growth, double k) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (!(slope > 0.0)) return {slope == 0.0 && growth == 0.0 ? 0.0 : infinity, 0.0, 0.0};
    const double deviation = growth / slope;
    const double log_rate = std::log(slope / k);
    return {slope * (log_rate - 1.0) + 0.5 * growth * deviation, log_rate - 0.5 * deviation * deviation, deviation};
  }
  [[nodiscard]] static double conjugate_limit(double slope, double /*k*/) {
    return slope > 0.0 ? std::numeric_limits<double>::infinity() : slope == 0.0 ? 0.0 : -1.0;
  }

  [[nodiscard]] static bool tilted_rule(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
    return exponential_tilted(row, moments, nodes);
  }
};

}  // namespace gaussmith
