#pragma once
// Tilted moments when the Gaussian sits where the site is all but impossible.

#include "numerics/gaussian_integrals.hpp"

#include <cmath>

namespace gaussmith {

/// N(eta | m, v) t^power = e^shift N(eta | mean, v) (t e^(slope (eta - mean)))^power, exactly, for any new mean.
struct Recentred {
  double mean, slope, shift;
};

/// Moves the mean to the mode of a log-concave tilted density when the site's slope at m exceeds 1e10: from there (an
/// e^eta far above its mode) Newton's method has neither digits nor steps. Otherwise leaves m alone.
[[nodiscard]] inline Recentred recentre(DerivativeFunction site, double m, double v, double power) {
  const double at_m = site(m).first;
  if (std::abs(at_m) < 1e10) return {m, 0.0, 0.0};
  // The slope of the log density falls with eta, so its zero lies on the side that the slope at m points to.
  const auto slope = [&](double eta) { return power * site(eta).first - (eta - m) / v; };
  const double direction = at_m > 0.0 ? 1.0 : -1.0;
  double near = m, step = 1.0;
  double far = m + direction;
  while (direction * slope(far) > 0.0 && step < 1e15) {
    near = far;
    step *= 2.0;
    far = m + direction * step;
  }
  for (int halving = 0; halving < 100; ++halving) {
    const double middle = 0.5 * (near + far);
    (direction * slope(middle) > 0.0 ? near : far) = middle;
  }
  const double k = (m - far) / v;
  return {far, k / power, -0.5 * (m - far) * k};
}

}  // namespace gaussmith
