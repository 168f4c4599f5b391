#pragma once
// A one-dimensional density from its logarithm at a few points: a Gaussian times the exponential of a smooth function,
// which a cubic spline carries between them.

#include "gaussmith/trust.hpp"

#include <functional>

namespace gaussmith {

/// N(x | mean, sd^2) exp(h(alpha)), alpha = (x - mean)/sd, from h at points that are chosen here, outwards from 0 on
/// both sides. `restart` is called before either side.
[[nodiscard]] CorrectedMarginal line_marginal(double mean, double sd, const std::vector<double>& levels,
                                              const std::function<double(double)>& h,
                                              const std::function<void()>& restart);

}  // namespace gaussmith
