#pragma once

#include "gaussmith/design.hpp"

namespace gaussmith {

/// The same design with entries. Those of an operator come from its products with unit vectors, in blocks, and are
/// sparse where few of them (a quarter at most) are not zero.
[[nodiscard]] Design with_few_entries(const Design& design);

}  // namespace gaussmith
