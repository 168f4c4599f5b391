#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// The j-th class, in order, of those that are not `label`.
[[nodiscard]] inline Index other_class(Index j, Index label) { return j < label ? j : j + 1; }

}  // namespace gaussmith
