#pragma once

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

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
  Matrix a = values.asDiagonal();
  for (int k = 0; k < 3; ++k) {
    const Vector v = normal_matrix(values.size(), 1, random).col(0).normalized();
    a -= 2.0 * v * (v.transpose() * a);
    a -= 2.0 * (a * v) * v.transpose();
  }
  return 0.5 * (a + a.transpose());
}

}  // namespace gaussmith::testing
