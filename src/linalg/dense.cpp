#include "linalg/dense.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gaussmith {

namespace {

lapack_int as_int(Index n) { return static_cast<lapack_int>(n); }
/// LAPACK wants a leading dimension of at least one even for empty matrices.
lapack_int leading(Index stride) { return as_int(std::max<Index>(1, stride)); }

}  // namespace

bool cholesky(Matrix& a) {
  assert(a.rows() == a.cols());
  if (a.rows() == 0) return true;
  const auto info = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', as_int(a.rows()), a.data(), leading(a.rows()));
  // dpotrf lets a NaN through when it stands off the diagonal path it tests.
  return info == 0 && a.diagonal().allFinite();
}

void invert_lower(Matrix& lower) {
  if (lower.rows() == 0) return;
  [[maybe_unused]] const auto info =
      LAPACKE_dtrtri_work(LAPACK_COL_MAJOR, 'L', 'N', as_int(lower.rows()), lower.data(), leading(lower.rows()));
  assert(info == 0);
}

void lower_transposed_times_lower(Matrix& lower) {
  if (lower.rows() == 0) return;
  LAPACKE_dlauum_work(LAPACK_COL_MAJOR, 'L', as_int(lower.rows()), lower.data(), leading(lower.rows()));
}

void solve_lower(const Matrix& lower, MatrixView b) {
  if (b.size() == 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasNonUnit, as_int(b.rows()), as_int(b.cols()), 1.0,
              lower.data(), leading(lower.rows()), b.data(), leading(b.outerStride()));
}

void solve_lower_transposed(const Matrix& lower, MatrixView b) {
  if (b.size() == 0) return;
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, as_int(b.rows()), as_int(b.cols()), 1.0,
              lower.data(), leading(lower.rows()), b.data(), leading(b.outerStride()));
}

void solve_lower(const Matrix& lower, Vector& b) {
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, as_int(b.size()), lower.data(),
              leading(lower.rows()), b.data(), 1);
}

void solve_lower_transposed(const Matrix& lower, Vector& b) {
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, as_int(b.size()), lower.data(),
              leading(lower.rows()), b.data(), 1);
}

Vector symmetric_times(const Matrix& symmetric_lower, const Vector& x) {
  Vector out(x.size());
  cblas_dsymv(CblasColMajor, CblasLower, as_int(x.size()), 1.0, symmetric_lower.data(), leading(symmetric_lower.rows()),
              x.data(), 1, 0.0, out.data(), 1);
  return out;
}

Matrix symmetric_times(const Matrix& symmetric_lower, const Matrix& x) {
  Matrix out(x.rows(), x.cols());
  if (out.size() == 0) return out;
  cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, as_int(x.rows()), as_int(x.cols()), 1.0, symmetric_lower.data(),
              leading(symmetric_lower.rows()), x.data(), leading(x.outerStride()), 0.0, out.data(),
              leading(out.rows()));
  return out;
}

void add_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out) {
  if (a.size() == 0) return;
  cblas_dgemv(CblasColMajor, CblasNoTrans, as_int(a.rows()), as_int(a.cols()), 1.0, a.data(), leading(a.outerStride()),
              x.data(), 1, 1.0, out.data(), 1);
}

void add_transposed_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out) {
  if (a.size() == 0) return;
  cblas_dgemv(CblasColMajor, CblasTrans, as_int(a.rows()), as_int(a.cols()), 1.0, a.data(), leading(a.outerStride()),
              x.data(), 1, 1.0, out.data(), 1);
}

void add_gram(double alpha, ConstMatrixView a, double beta, MatrixView c) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasTrans, as_int(a.cols()), as_int(a.rows()), alpha, a.data(),
              leading(a.outerStride()), beta, c.data(), leading(c.outerStride()));
}

void add_outer(double alpha, ConstMatrixView a, double beta, MatrixView c) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, as_int(a.rows()), as_int(a.cols()), alpha, a.data(),
              leading(a.outerStride()), beta, c.data(), leading(c.outerStride()));
}

namespace {

void set_product(ConstMatrixView a, CBLAS_TRANSPOSE ta, ConstMatrixView b, CBLAS_TRANSPOSE tb, MatrixView out) {
  const Index inner = ta == CblasNoTrans ? a.cols() : a.rows();
  if (out.size() == 0) return;
  if (inner == 0) {
    out.setZero();
    return;
  }
  cblas_dgemm(CblasColMajor, ta, tb, as_int(out.rows()), as_int(out.cols()), as_int(inner), 1.0, a.data(),
              leading(a.outerStride()), b.data(), leading(b.outerStride()), 0.0, out.data(),
              leading(out.outerStride()));
}

Matrix product(ConstMatrixView a, CBLAS_TRANSPOSE ta, ConstMatrixView b, CBLAS_TRANSPOSE tb) {
  Matrix out(ta == CblasNoTrans ? a.rows() : a.cols(), tb == CblasNoTrans ? b.cols() : b.rows());
  set_product(a, ta, b, tb, out);
  return out;
}

}  // namespace

Matrix times(ConstMatrixView a, ConstMatrixView b) { return product(a, CblasNoTrans, b, CblasNoTrans); }
Matrix transposed_times(ConstMatrixView a, ConstMatrixView b) { return product(a, CblasTrans, b, CblasNoTrans); }
Matrix times_transposed(ConstMatrixView a, ConstMatrixView b) { return product(a, CblasNoTrans, b, CblasTrans); }
void set_times(ConstMatrixView a, ConstMatrixView b, MatrixView out) {
  set_product(a, CblasNoTrans, b, CblasNoTrans, out);
}
void set_transposed_times(ConstMatrixView a, ConstMatrixView b, MatrixView out) {
  set_product(a, CblasTrans, b, CblasNoTrans, out);
}
void set_times_transposed(ConstMatrixView a, ConstMatrixView b, MatrixView out) {
  set_product(a, CblasNoTrans, b, CblasTrans, out);
}

void mirror_lower(Matrix& a) {
  // Tiles keep both the read and the strided write in cache.
  constexpr Index tile = 64;
  const Index n = a.rows();
  for (Index jb = 0; jb < n; jb += tile)
    for (Index ib = jb; ib < n; ib += tile)
      for (Index j = jb; j < std::min(jb + tile, n); ++j)
        for (Index i = std::max(ib, j + 1); i < std::min(ib + tile, n); ++i) a(j, i) = a(i, j);
}

double half_log_determinant(const Matrix& lower) { return lower.diagonal().array().log().sum(); }

PivotedCholesky pivoted_cholesky(const Matrix& a) {
  const Index n = a.rows();
  // Unit diagonal, so that the rank is judged by correlations and small variances are not taken for rounding.
  const Vector root = a.diagonal().cwiseMax(0.0).cwiseSqrt();
  const Vector scale = root.unaryExpr([](double r) { return r > 0.0 ? 1.0 / r : 0.0; });
  Matrix work = scale.asDiagonal() * a * scale.asDiagonal();
  std::vector<lapack_int> pivot(static_cast<std::size_t>(n));
  std::vector<double> scratch(static_cast<std::size_t>(2 * n));
  lapack_int rank = 0;
  if (n > 0)
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', as_int(n), work.data(), leading(n), pivot.data(), &rank, -1.0,
                        scratch.data());
  PivotedCholesky result;
  result.factor = Matrix::Zero(n, rank);
  for (Index i = 0; i < n; ++i) {
    const Index row = pivot[static_cast<std::size_t>(i)] - 1;
    for (Index j = 0; j <= std::min<Index>(i, rank - 1); ++j) result.factor(row, j) = root(row) * work(i, j);
    if (i < rank) result.pivots.push_back(row);
  }
  return result;
}

}  // namespace gaussmith
