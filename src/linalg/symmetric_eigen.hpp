#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// A = U diag(d) U' for symmetric A, on LAPACK (divide and conquer): about 9 N^3 flops.
struct SymmetricEigen {
  Vector values;   ///< d, ascending; NaN if A holds anything that is not finite.
  Matrix vectors;  ///< U, one eigenvector a column.
};
/// Reads the lower triangle.
[[nodiscard]] SymmetricEigen symmetric_eigen(Matrix a);

}  // namespace gaussmith
