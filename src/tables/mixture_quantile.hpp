#pragma once

#include "gaussmith/predict.hpp"

#include <vector>

namespace gaussmith {

/// Where the distribution function of entry j of a mixture of Gaussians reaches a level; weights sum to one.
[[nodiscard]] double mixture_quantile(const std::vector<Marginals>& parts, const Vector& weights, Index j,
                                      double level);

}  // namespace gaussmith
