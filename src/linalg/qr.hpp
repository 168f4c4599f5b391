#pragma once
// QR factorisations by Householder reflections, on LAPACK. 2 N K^2 flops for N x K.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// The upper triangular R, K x K, with A'A = R'R and a diagonal that is not negative; N >= K.
[[nodiscard]] Matrix triangular_factor(Matrix a);

/// upper := the triangular factor of [upper; rows], K x K over any number of rows, so that a tall matrix goes through
/// in blocks. Signs of the diagonal are free. `rows` is overwritten. 2 N K^2 flops.
void add_rows(Matrix& upper, Matrix& rows);

/// Q, N x K with Q'Q = I, whose columns span those of A; N >= K.
[[nodiscard]] Matrix orthonormal_columns(Matrix a);

/// x that minimises |A x - b|, by QR with column pivoting. Columns that add less than `smallest_pivot` times the
/// largest pivot to those before them get x = 0. N >= 1, any K.
[[nodiscard]] Vector least_squares(Matrix a, Vector b, double smallest_pivot);

}  // namespace gaussmith
