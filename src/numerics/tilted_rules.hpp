#pragma once
// Moments of N(x | m, v) exp(slope x + weight f(x)) for four functions f by one trapezoidal rule, vectorised over its
// nodes: the quick route to tilted moments. Each row stands alone: its result does not depend on its neighbours.
//
// The nodes are x = centre + width sinh(xi), xi evenly spaced: for an analytic integrand that decays at both ends the
// error falls like e^(-c/h), so the sums over every second and every fourth node tell how large it is. Where they do
// not vouch for 3e-11, twice the nodes are tried once; then the caller is told to integrate adaptively.

#include "numerics/gaussian_integrals.hpp"

#include <vector>

namespace gaussmith {

/// N(x | mean, variance) exp(slope x + weight f(x)), variance > 0.
struct TiltedRow {
  double mean, variance, slope, weight;
};

/// The rule itself, for other integrals: x and weights that sum to one.
struct TiltedNodes {
  std::vector<double> x, weight;
};

// Each fills in the moments of x, and the nodes if there is a place for them, and returns true; or returns false where
// the rule is not sure. Errors are below 1e-11: of the mean relative to the deviation (rounding of x itself aside), of
// the variance relative to itself, of the log normaliser L relative to 1 + |L|.

/// f(x) = e^x, weight < 0.
[[nodiscard]] bool exponential_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes = nullptr);
/// f(x) = log(1 + e^x), weight < 0.
[[nodiscard]] bool softplus_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes = nullptr);
/// f(x) = log Phi(x), weight > 0.
[[nodiscard]] bool log_ndtr_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes = nullptr);
/// f(x) = log(1 + x^2), weight < 0, slope = 0; two modes included.
[[nodiscard]] bool log1p_square_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes = nullptr);

}  // namespace gaussmith
