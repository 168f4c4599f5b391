#pragma once

#include "gaussmith/random.hpp"
#include "support/dense.hpp"

namespace gaussmith::testing {

/// Standard normal entries.
inline Matrix normal_matrix(Index rows, Index columns, Random& random) {
  Matrix out(rows, columns);
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) out(i, j) = random.normal();
  return out;
}

/// U diag(values) U' with random orthonormal U, made of reflections.
inline Matrix symmetric_with(const Vector& values, Random& random) {
  const Index size = values.size();
  Matrix u = Matrix::Identity(size, size);
  for (int k = 0; k < 3; ++k) {
    const Matrix v = normal_matrix(size, 1, random);
    const Matrix inner = dense_transposed_product(v, u);
    u -= dense_product((2.0 / v.squaredNorm()) * v, inner);
  }
  Matrix scaled = u;
  for (Index j = 0; j < size; ++j) scaled.col(j) *= values(j);
  const Matrix a = dense_product(scaled, u.transpose());
  return 0.5 * (a + a.transpose());
}

}  // namespace gaussmith::testing
