#pragma once
// Moments of responses whose mean is exposure e^eta, eta ~ N(m, v).

#include "sites/atoms/exponential.hpp"
#include "sites/likelihood.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

/// Mean and variance of Y when E[Y | eta] = mu, Var[Y | eta] = linear mu + quadratic mu^2 and log mu ~ N(m, v):
/// E = e^(m + v/2), Var = linear E + E^2 (quadratic e^v + e^v - 1). Values beyond 1e304 are given as 1e304.
[[nodiscard]] inline ResponseMoments lognormal_mixture(double m, double v, double linear, double quadratic) {
  const double log_mean = m + 0.5 * v;
  const double mean = capped_exp(log_mean);
  // log of expm1(v) + quadratic e^v, without overflow.
  const double spread = -std::expm1(-v) + quadratic;
  const double squared = spread > 0.0 ? capped_exp(2.0 * log_mean + v + std::log(spread)) : 0.0;
  return {mean, std::min(linear * mean + squared, capped_exp(700.0))};
}

}  // namespace gaussmith
