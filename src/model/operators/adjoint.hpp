#pragma once

#include "linalg/linear_map.hpp"

#include <cstdint>

namespace gaussmith {

/// adjoint_error (gaussmith/operators.hpp) of two products, x of `cols` and y of `rows` numbers.
[[nodiscard]] double adjoint_error(Index rows, Index cols, const LinearMap& times, const LinearMap& transposed_times,
                                   std::uint64_t seed);

/// Throws InvalidModel where the error is above the tolerance.
void refuse_adjoint_error(double error, double tolerance);

}  // namespace gaussmith
