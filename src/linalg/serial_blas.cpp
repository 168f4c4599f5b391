#include "linalg/serial_blas.hpp"

#include "linalg/blas_memory.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cassert>

namespace gaussmith::serial {

namespace {

/// DTRTRI's own blocks are slower than this recursion at all sizes.
constexpr Index largest_inverted_whole = 32;

lapack_int as_int(Index n) { return static_cast<lapack_int>(n); }
/// LAPACK wants a leading dimension of at least one even for empty matrices.
lapack_int leading(const ConstMatrixView& a) { return as_int(std::max<Index>(1, a.outerStride())); }
CBLAS_TRANSPOSE transposition(As as) { return as == As::is ? CblasNoTrans : CblasTrans; }

void solve(CBLAS_SIDE side, double alpha, const ConstMatrixView& lower, As as, MatrixView& b) {
  if (b.size() == 0) return;
  prepare_blas();
  cblas_dtrsm(CblasColMajor, side, CblasLower, transposition(as), CblasNonUnit, as_int(b.rows()), as_int(b.cols()),
              alpha, lower.data(), leading(lower), b.data(), leading(b));
}

void multiply(CBLAS_SIDE side, double alpha, const ConstMatrixView& lower, As as, MatrixView& b) {
  if (b.size() == 0) return;
  prepare_blas();
  cblas_dtrmm(CblasColMajor, side, CblasLower, transposition(as), CblasNonUnit, as_int(b.rows()), as_int(b.cols()),
              alpha, lower.data(), leading(lower), b.data(), leading(b));
}

}  // namespace

bool cholesky(MatrixView a) {
  assert(a.rows() == a.cols());
  if (a.rows() == 0) return true;
  prepare_blas();
  const auto info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', as_int(a.rows()), a.data(), leading(a));
  // dpotrf lets a NaN through when it stands off the diagonal path it tests.
  return info == 0 && a.diagonal().allFinite();
}

void invert_lower(MatrixView lower) {
  const Index n = lower.rows();
  if (n == 0) return;
  if (n <= largest_inverted_whole) {
    prepare_blas();
    [[maybe_unused]] const auto info =
        LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', as_int(n), lower.data(), leading(lower));
    assert(info == 0);
    return;
  }
  const Index half = n / 2;
  auto first = lower.topLeftCorner(half, half);
  auto second = lower.bottomRightCorner(n - half, n - half);
  auto below = lower.bottomLeftCorner(n - half, half);
  invert_lower(first);
  invert_lower(second);
  multiply_left(-1.0, second, As::is, below);
  multiply_right(1.0, first, As::is, below);
}

void lower_transposed_times_lower(MatrixView lower) {
  if (lower.rows() == 0) return;
  prepare_blas();
  LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', as_int(lower.rows()), lower.data(), leading(lower));
}

void solve_left(double alpha, ConstMatrixView lower, As as, MatrixView b) { solve(CblasLeft, alpha, lower, as, b); }
void solve_right(double alpha, ConstMatrixView lower, As as, MatrixView b) { solve(CblasRight, alpha, lower, as, b); }

void multiply_left(double alpha, ConstMatrixView lower, As as, MatrixView b) {
  multiply(CblasLeft, alpha, lower, as, b);
}
void multiply_right(double alpha, ConstMatrixView lower, As as, MatrixView b) {
  multiply(CblasRight, alpha, lower, as, b);
}

void add_product(double alpha, ConstMatrixView a, As a_as, ConstMatrixView b, As b_as, double beta, MatrixView out) {
  const Index inner = a_as == As::is ? a.cols() : a.rows();
  if (out.size() == 0) return;
  if (inner == 0) {
    if (beta == 0.0)
      out.setZero();
    else
      out *= beta;
    return;
  }
  prepare_blas();
  if (out.cols() == 1 && b_as == As::is) {
    cblas_dgemv(CblasColMajor, transposition(a_as), as_int(a.rows()), as_int(a.cols()), alpha, a.data(), leading(a),
                b.data(), 1, beta, out.data(), 1);
    return;
  }
  cblas_dgemm(CblasColMajor, transposition(a_as), transposition(b_as), as_int(out.rows()), as_int(out.cols()),
              as_int(inner), alpha, a.data(), leading(a), b.data(), leading(b), beta, out.data(), leading(out));
}

void set_symmetric_product(ConstMatrixView symmetric_lower, ConstMatrixView x, MatrixView out) {
  if (out.size() == 0) return;
  prepare_blas();
  cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, as_int(x.rows()), as_int(x.cols()), 1.0, symmetric_lower.data(),
              leading(symmetric_lower), x.data(), leading(x), 0.0, out.data(), leading(out));
}

void add_square(double alpha, ConstMatrixView a, As as, double beta, MatrixView c) {
  if (c.size() == 0) return;
  prepare_blas();
  cblas_dsyrk(CblasColMajor, CblasLower, transposition(as), as_int(c.rows()),
              as_int(as == As::is ? a.cols() : a.rows()), alpha, a.data(), leading(a), beta, c.data(), leading(c));
}

}  // namespace gaussmith::serial
