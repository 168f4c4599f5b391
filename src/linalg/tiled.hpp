#pragma once
// Factorisations cut into tiles for several threads, and products cut into slices. Tiles and slices are fixed by the
// sizes, and each is computed by one thread in a fixed order: any number of threads gives the same bits.

#include "linalg/serial_blas.hpp"

namespace gaussmith::tiled {

/// As serial:: of the same names.
[[nodiscard]] bool cholesky(MatrixView a, int threads);
void invert_lower(MatrixView lower, int threads);
void lower_transposed_times_lower(MatrixView lower, int threads);

/// b := op(L)^-1 b by columns of b.
void solve_left(ConstMatrixView lower, As as, MatrixView b, int threads);
/// out := op(a) op(b) by rows or columns of out, whichever are more.
void set_product(ConstMatrixView a, As a_as, ConstMatrixView b, As b_as, MatrixView out, int threads);
/// out := S x by columns of x.
void set_symmetric_product(ConstMatrixView symmetric_lower, ConstMatrixView x, MatrixView out, int threads);
/// c(lower) := beta c + alpha a a', or alpha a'a for transposed a, by tiles of c.
void add_square(double alpha, ConstMatrixView a, As as, double beta, MatrixView c, int threads);

}  // namespace gaussmith::tiled
