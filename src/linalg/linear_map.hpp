#pragma once

#include "gaussmith/types.hpp"

#include <functional>

namespace gaussmith {

/// A X for a block X of vectors, one a column. Iterative methods know of a matrix no more than this.
using LinearMap = std::function<Matrix(const Matrix& x)>;

}  // namespace gaussmith
