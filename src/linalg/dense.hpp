#pragma once
// Dense LAPACK and BLAS calls under names that say what they do. All matrices are column-major; "lower" functions read
// and write only the lower triangle. Eigen's own factorisations are two to three times slower here. Large operations
// use the threads of linalg/blas_threads.hpp.

#include "gaussmith/types.hpp"
#include "linalg/serial_blas.hpp"

#include <vector>

namespace gaussmith {

/// a := L with a = L L', in the lower triangle. False when a is not positive definite (to working precision).
[[nodiscard]] bool cholesky(Matrix& a);

/// L := L^-1, lower triangle. L must have a nonzero diagonal. N^3 / 3 flops.
void invert_lower(Matrix& lower);

/// L := L'L, lower triangle, so that invert_lower and this give (L L')^-1. N^3 / 3 flops.
void lower_transposed_times_lower(Matrix& lower);

/// b := L^-1 b and b := L^-T b.
void solve_lower(const Matrix& lower, MatrixView b);
void solve_lower_transposed(const Matrix& lower, MatrixView b);
void solve_lower(const Matrix& lower, Vector& b);
void solve_lower_transposed(const Matrix& lower, Vector& b);

/// S x for symmetric S given by its lower triangle.
[[nodiscard]] Vector symmetric_times(const Matrix& symmetric_lower, const Vector& x);
/// S X for symmetric S given by its lower triangle.
[[nodiscard]] Matrix symmetric_times(const Matrix& symmetric_lower, const Matrix& x);

/// out += a x and out += a' x.
void add_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out);
void add_transposed_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out);

/// c(lower) := beta c + alpha a'a.
void add_gram(double alpha, ConstMatrixView a, double beta, MatrixView c);
/// c(lower) := beta c + alpha a a'.
void add_outer(double alpha, ConstMatrixView a, double beta, MatrixView c);

/// a b, a' b and a b'.
[[nodiscard]] Matrix times(ConstMatrixView a, ConstMatrixView b);
[[nodiscard]] Matrix transposed_times(ConstMatrixView a, ConstMatrixView b);
[[nodiscard]] Matrix times_transposed(ConstMatrixView a, ConstMatrixView b);

/// out := a b, out := a' b and out := a b', without a temporary.
void set_times(ConstMatrixView a, ConstMatrixView b, MatrixView out);
void set_transposed_times(ConstMatrixView a, ConstMatrixView b, MatrixView out);
void set_times_transposed(ConstMatrixView a, ConstMatrixView b, MatrixView out);

/// Copies the lower triangle to the upper one.
void mirror_lower(Matrix& a);

/// sum_i log L_ii = half the log-determinant of L L'.
[[nodiscard]] double half_log_determinant(const Matrix& lower);

/// A = R R' for positive semi-definite A: rank-revealing Cholesky with complete pivoting.
struct PivotedCholesky {
  Matrix factor;              ///< R, D x rank, rows in the order of A.
  std::vector<Index> pivots;  ///< Rows of R that form a lower triangle, first `rank` of the pivot order.
  [[nodiscard]] Index rank() const { return factor.cols(); }
};
/// Ends where no pivot is above `tolerance`, of 1 for a row that depends on none before it; below 0: D times the
/// rounding unit.
[[nodiscard]] PivotedCholesky pivoted_cholesky(const Matrix& a, double tolerance = -1.0);

}  // namespace gaussmith
