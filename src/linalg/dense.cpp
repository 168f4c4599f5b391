#include "linalg/dense.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/blas_memory.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/tiled.hpp"

#include <cblas.h>
#include <lapacke.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

lapack_int as_int(Index n) { return static_cast<lapack_int>(n); }
/// LAPACK wants a leading dimension of at least one even for empty matrices.
lapack_int leading(Index stride) { return as_int(std::max<Index>(1, stride)); }

/// Of a product of m x k and k x n.
double flops(Index m, Index n, Index k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}
double cube(Index n) { return flops(n, n, n) / 2.0; }

}  // namespace

bool cholesky(Matrix& a) {
  const int threads = threads_for(cube(a.rows()) / 3.0);
  return threads == 1 ? serial::cholesky(a) : tiled::cholesky(a, threads);
}

void invert_lower(Matrix& lower) {
  const int threads = threads_for(cube(lower.rows()) / 3.0);
  if (threads == 1)
    serial::invert_lower(lower);
  else
    tiled::invert_lower(lower, threads);
}

void lower_transposed_times_lower(Matrix& lower) {
  const int threads = threads_for(cube(lower.rows()) / 3.0);
  if (threads == 1)
    serial::lower_transposed_times_lower(lower);
  else
    tiled::lower_transposed_times_lower(lower, threads);
}

namespace {

void solve(const Matrix& lower, As as, MatrixView b) {
  const int threads = threads_for(flops(b.rows(), b.rows(), b.cols()) / 2.0);
  if (threads == 1)
    serial::solve_left(1.0, lower, as, b);
  else
    tiled::solve_left(lower, as, b, threads);
}

}  // namespace

void solve_lower(const Matrix& lower, MatrixView b) { solve(lower, As::is, b); }
void solve_lower_transposed(const Matrix& lower, MatrixView b) { solve(lower, As::transposed, b); }

void solve_lower(const Matrix& lower, Vector& b) {
  prepare_blas();
  cblas_dtrsv(CblasColMajor, CblasLower, CblasNoTrans, CblasNonUnit, as_int(b.size()), lower.data(),
              leading(lower.rows()), b.data(), 1);
}

void solve_lower_transposed(const Matrix& lower, Vector& b) {
  prepare_blas();
  cblas_dtrsv(CblasColMajor, CblasLower, CblasTrans, CblasNonUnit, as_int(b.size()), lower.data(),
              leading(lower.rows()), b.data(), 1);
}

Vector symmetric_times(const Matrix& symmetric_lower, const Vector& x) {
  Vector out(x.size());
  prepare_blas();
  cblas_dsymv(CblasColMajor, CblasLower, as_int(x.size()), 1.0, symmetric_lower.data(), leading(symmetric_lower.rows()),
              x.data(), 1, 0.0, out.data(), 1);
  return out;
}

Matrix symmetric_times(const Matrix& symmetric_lower, const Matrix& x) {
  Matrix out(x.rows(), x.cols());
  const int threads = threads_for(flops(x.rows(), x.rows(), x.cols()));
  if (threads == 1)
    serial::set_symmetric_product(symmetric_lower, x, out);
  else
    tiled::set_symmetric_product(symmetric_lower, x, out, threads);
  return out;
}

void add_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out) {
  if (a.size() == 0) return;
  prepare_blas();
  cblas_dgemv(CblasColMajor, CblasNoTrans, as_int(a.rows()), as_int(a.cols()), 1.0, a.data(), leading(a.outerStride()),
              x.data(), 1, 1.0, out.data(), 1);
}

void add_transposed_times(ConstMatrixView a, const Eigen::Ref<const Vector>& x, Eigen::Ref<Vector> out) {
  if (a.size() == 0) return;
  prepare_blas();
  cblas_dgemv(CblasColMajor, CblasTrans, as_int(a.rows()), as_int(a.cols()), 1.0, a.data(), leading(a.outerStride()),
              x.data(), 1, 1.0, out.data(), 1);
}

namespace {

void add_square(double alpha, ConstMatrixView a, As as, double beta, MatrixView c) {
  const int threads = threads_for(flops(c.rows(), c.rows(), as == As::is ? a.cols() : a.rows()) / 2.0);
  if (threads == 1)
    serial::add_square(alpha, a, as, beta, c);
  else
    tiled::add_square(alpha, a, as, beta, c, threads);
}

void set_product(ConstMatrixView a, As a_as, ConstMatrixView b, As b_as, MatrixView out) {
  const int threads = threads_for(flops(out.rows(), out.cols(), a_as == As::is ? a.cols() : a.rows()));
  if (threads == 1)
    serial::add_product(1.0, a, a_as, b, b_as, 0.0, out);
  else
    tiled::set_product(a, a_as, b, b_as, out, threads);
}

Matrix product(ConstMatrixView a, As a_as, ConstMatrixView b, As b_as) {
  Matrix out(a_as == As::is ? a.rows() : a.cols(), b_as == As::is ? b.cols() : b.rows());
  set_product(a, a_as, b, b_as, out);
  return out;
}

}  // namespace

void add_gram(double alpha, ConstMatrixView a, double beta, MatrixView c) {
  add_square(alpha, a, As::transposed, beta, c);
}
void add_outer(double alpha, ConstMatrixView a, double beta, MatrixView c) { add_square(alpha, a, As::is, beta, c); }

Matrix times(ConstMatrixView a, ConstMatrixView b) { return product(a, As::is, b, As::is); }
Matrix transposed_times(ConstMatrixView a, ConstMatrixView b) { return product(a, As::transposed, b, As::is); }
Matrix times_transposed(ConstMatrixView a, ConstMatrixView b) { return product(a, As::is, b, As::transposed); }
void set_times(ConstMatrixView a, ConstMatrixView b, MatrixView out) { set_product(a, As::is, b, As::is, out); }
void set_transposed_times(ConstMatrixView a, ConstMatrixView b, MatrixView out) {
  set_product(a, As::transposed, b, As::is, out);
}
void set_times_transposed(ConstMatrixView a, ConstMatrixView b, MatrixView out) {
  set_product(a, As::is, b, As::transposed, out);
}

void mirror_lower(Matrix& a) {
  // Tiles are turned in a buffer: columns of powers of two fall on the same few places of a cache.
  constexpr Index tile = 64;
  constexpr double flops_an_entry = 40.0;  // That take as long.
  const Index n = a.rows();
  const int threads = threads_for(0.5 * flops_an_entry * static_cast<double>(n) * static_cast<double>(n));
  parallel_blocks(n, tile, threads, [&](Index j, Index j_end) {
    for (Index c = j; c < j_end; ++c)
      for (Index r = c + 1; r < j_end; ++r) a(c, r) = a(r, c);
    Eigen::Matrix<double, tile, tile> turned;
    for (Index i = j_end; i < n; i += tile) {
      const Index height = std::min(tile, n - i);
      turned.topLeftCorner(j_end - j, height) = a.block(i, j, height, j_end - j).transpose();
      a.block(j, i, j_end - j, height) = turned.topLeftCorner(j_end - j, height);
    }
  });
}

double half_log_determinant(const Matrix& lower) { return lower.diagonal().array().log().sum(); }

PivotedCholesky pivoted_cholesky(const Matrix& a, double tolerance) {
  const Index n = a.rows();
  // Unit diagonal, so that the rank is judged by correlations and small variances are not taken for rounding.
  const Vector root = a.diagonal().cwiseMax(0.0).cwiseSqrt();
  const Vector scale = root.unaryExpr([](double r) { return r > 0.0 ? 1.0 / r : 0.0; });
  Matrix work = scale.asDiagonal() * a * scale.asDiagonal();
  std::vector<lapack_int> pivot(static_cast<std::size_t>(n));
  std::vector<double> scratch(static_cast<std::size_t>(2 * n));
  lapack_int rank = 0;
  if (n > 0) {
    prepare_blas();
    LAPACKE_dpstrf_work(LAPACK_COL_MAJOR, 'L', as_int(n), work.data(), leading(n), pivot.data(), &rank, tolerance,
                        scratch.data());
  }
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
