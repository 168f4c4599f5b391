#pragma once
// The inverse of a positive definite matrix, where numbers of its own are asked for and solves are not enough.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// (L L')^-1, both halves, from the Cholesky factor L: 2/3 N^3 flops.
[[nodiscard]] Matrix inverse_of_factor(Matrix lower);

}  // namespace gaussmith
