#pragma once
// Maximises the bound over a few directions at once. Along them eta is linear and v quadratic in the coefficients, so a
// trial costs N site expectations and no product with the design.

#include "families/family_objective.hpp"

namespace gaussmith {

/// Moves the point to a better one in its span with the mean and the root parts of the directions, each part with its
/// own coefficient; `taken` is the step. False when no ascent was found: the point is then unchanged.
[[nodiscard]] bool plane_search(const FamilyObjective& objective, const std::vector<const FamilyDirection*>& directions,
                                FamilyPoint& point, FamilyDirection& taken);

}  // namespace gaussmith
