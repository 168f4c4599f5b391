#pragma once
// Where a fit may begin when an earlier posterior is at hand.

#include "families/family_space.hpp"
#include "families/fit_family.hpp"

#include <optional>

namespace gaussmith {

/// Mean x and entries of the root.
struct StartingPoint {
  Vector mean, root;
};

/// Mean and root of an earlier fit where its root has entries only where this family may have them; otherwise, with as
/// many rows, what the earlier sites say. Empty where neither suits or the bound is no better than at the cold start.
[[nodiscard]] std::optional<StartingPoint> warm_starting_point(const FamilyObjective& objective,
                                                               const ModelSpace& model_space, const FamilyStart& warm,
                                                               const StartingPoint& cold);

}  // namespace gaussmith
