#pragma once
// The normal distribution cut off at zero, free of cancellation however far out the cut is.

#include "numerics/special.hpp"

namespace gaussmith {

/// Mean and variance of x ~ N(location, 1) given x > 0. At 0: sqrt(2/pi) and 1 - 2/pi; for location -> -inf they tend
/// to 1/|location| and 1/location^2, with full relative accuracy.
struct HalfLineMoments {
  double mean, variance;
};

[[nodiscard]] inline HalfLineMoments half_line_moments(double location) {
  const LogNdtrDerivatives f = log_ndtr_derivatives(location);
  if (location > -1.0) {
    return {location + f.first, 1.0 + f.second};
  }
  // With r = phi/Phi and q = location + r: f'' = -r q and f''' = r (q^2 - q'), where q' = 1 - r q is the variance.
  const double mean = -f.second / f.first;
  return {mean, mean * mean - f.third / f.first};
}

}  // namespace gaussmith
