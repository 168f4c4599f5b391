#pragma once
// Which blocks are known only by the values of a function.

#include "gaussmith/sites.hpp"

namespace gaussmith {

/// Whether the block is a CustomLikelihood: where nobody has asked, it may be anything.
[[nodiscard]] bool is_custom(const SiteBlock& block);

}  // namespace gaussmith
