#pragma once
// What the ready operators ask of their arguments.

#include "gaussmith/operators.hpp"

#include <string_view>

namespace gaussmith {

/// Throws InvalidModel unless both sides of the grid are at least one; `who` begins the message.
void check_grid(std::string_view who, const Grid& grid);

/// Throws InvalidModel for a null handle.
void check_handle(std::string_view who, const OperatorHandle& handle);

}  // namespace gaussmith
