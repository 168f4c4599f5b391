#pragma once

#include "linalg/variance_estimators.hpp"

namespace gaussmith {

/// W with W W' <= A^-1, one column a step of Lanczos from a random start; as many columns as weights make W W' = A^-1.
/// With the same seed, fewer steps give the first columns. Columns end early where A is singular to rounding.
[[nodiscard]] Matrix krylov_root(const PrecisionSystem& system, Index steps, std::uint64_t seed);

}  // namespace gaussmith
