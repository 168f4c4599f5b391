#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Bytes of the vectors over rows and weights that every form of a core takes, whatever else it does.
[[nodiscard]] double vectors_memory(Index rows, Index weights);

}  // namespace gaussmith
