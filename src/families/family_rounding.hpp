#pragma once

#include "families/family_space.hpp"
#include "families/fit_family.hpp"
#include "gaussian/rounding_error.hpp"

namespace gaussmith {

/// What rounding of a dense prior covariance leaves uncertain in a fit over its weights, whose bound holds P = Sigma^-1
/// (docs/numerics.md). O(D^2) a row of the root. Nothing over whitened or independent weights, which need no inverse.
[[nodiscard]] RoundingError family_rounding(const ModelSpace& model_space, const PriorGeometry& geometry,
                                            const FamilyFit& fit);

}  // namespace gaussmith
