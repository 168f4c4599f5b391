#pragma once
// BLAS and LAPACK on the calling thread. All matrices are column-major; "lower" means the lower triangle alone.

#include "gaussmith/types.hpp"

namespace gaussmith {

using MatrixView = Eigen::Ref<Matrix>;
using ConstMatrixView = Eigen::Ref<const Matrix>;

enum class As { is, transposed };

namespace serial {

/// DPOTRF, lower. False when a is not positive definite.
[[nodiscard]] bool cholesky(MatrixView a);
/// L := L^-1. Halves down to small blocks, which DTRTRI does faster than large ones; their inverses are multiplied,
/// because DTRMM is faster than DTRSM.
void invert_lower(MatrixView lower);
/// L := L'L, DLAUUM.
void lower_transposed_times_lower(MatrixView lower);

/// b := alpha op(L)^-1 b, and b := alpha b op(L)^-1: DTRSM.
void solve_left(double alpha, ConstMatrixView lower, As as, MatrixView b);
void solve_right(double alpha, ConstMatrixView lower, As as, MatrixView b);
/// b := alpha op(L) b, and b := alpha b op(L): DTRMM.
void multiply_left(double alpha, ConstMatrixView lower, As as, MatrixView b);
void multiply_right(double alpha, ConstMatrixView lower, As as, MatrixView b);

/// out := beta out + alpha op(a) op(b), DGEMM; for one column DGEMV, which is twice as fast.
void add_product(double alpha, ConstMatrixView a, As a_as, ConstMatrixView b, As b_as, double beta, MatrixView out);
/// out := S x for S given by its lower triangle, DSYMM.
void set_symmetric_product(ConstMatrixView symmetric_lower, ConstMatrixView x, MatrixView out);
/// c(lower) := beta c + alpha a a', or alpha a'a for transposed a: DSYRK.
void add_square(double alpha, ConstMatrixView a, As as, double beta, MatrixView c);

}  // namespace serial

}  // namespace gaussmith
