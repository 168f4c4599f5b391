#include "linalg/qr.hpp"

#include "linalg/blas_memory.hpp"

#include <lapacke.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace gaussmith {

namespace {

lapack_int as_int(Index n) { return static_cast<lapack_int>(n); }
lapack_int leading(Index stride) { return as_int(std::max<Index>(1, stride)); }

/// Calls routine(work, length) with the length that it asks for, told through a call with length -1.
template <class Routine>
void with_workspace(const Routine& routine) {
  prepare_blas();
  double wanted = 0.0;
  routine(&wanted, lapack_int{-1});
  Vector work(std::max<Index>(1, static_cast<Index>(wanted)));
  [[maybe_unused]] const lapack_int info = routine(work.data(), as_int(work.size()));
  assert(info == 0);
}

/// Columns that reflections are gathered for.
constexpr Index panel_columns = 32;

/// a := R in its upper triangle and reflections below; their scales.
Vector factorise(Matrix& a) {
  Vector scales(std::min(a.rows(), a.cols()));
  if (a.size() == 0) return scales;
  with_workspace([&](double* work, lapack_int length) {
    return LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, as_int(a.rows()), as_int(a.cols()), a.data(), leading(a.rows()),
                               scales.data(), work, length);
  });
  return scales;
}

}  // namespace

Matrix triangular_factor(Matrix a) {
  assert(a.rows() >= a.cols());
  (void)factorise(a);
  Matrix r = a.topRows(a.cols()).triangularView<Eigen::Upper>();
  for (Index i = 0; i < r.rows(); ++i)
    if (r(i, i) < 0.0) r.row(i) *= -1.0;
  return r;
}

void add_rows(Matrix& upper, Matrix& rows) {
  const Index k = upper.cols();
  assert(rows.cols() == k);
  if (k == 0 || rows.rows() == 0) return;
  const Index block = std::min(panel_columns, k);
  Matrix reflectors(block, k);
  Matrix work(block, k);
  prepare_blas();
  [[maybe_unused]] const lapack_int info =
      LAPACKE_dtpqrt_work(LAPACK_COL_MAJOR, as_int(rows.rows()), as_int(k), 0, as_int(block), upper.data(), leading(k),
                          rows.data(), leading(rows.rows()), reflectors.data(), leading(block), work.data());
  assert(info == 0);
}

Matrix orthonormal_columns(Matrix a) {
  assert(a.rows() >= a.cols());
  const Vector scales = factorise(a);
  if (a.size() == 0) return a;
  with_workspace([&](double* work, lapack_int length) {
    return LAPACKE_dorgqr_work(LAPACK_COL_MAJOR, as_int(a.rows()), as_int(a.cols()), as_int(a.cols()), a.data(),
                               leading(a.rows()), scales.data(), work, length);
  });
  return a;
}

Vector least_squares(Matrix a, Vector b, double smallest_pivot) {
  assert(a.rows() == b.size());
  const Index size = std::min(a.rows(), a.cols());
  Vector x = Vector::Zero(a.cols());
  if (size == 0) return x;
  Vector scales(size);
  std::vector<lapack_int> order(static_cast<std::size_t>(a.cols()), 0);
  with_workspace([&](double* work, lapack_int length) {
    return LAPACKE_dgeqp3_work(LAPACK_COL_MAJOR, as_int(a.rows()), as_int(a.cols()), a.data(), leading(a.rows()),
                               order.data(), scales.data(), work, length);
  });
  Index rank = 0;
  while (rank < size && std::abs(a(rank, rank)) > smallest_pivot * std::abs(a(0, 0))) ++rank;
  if (rank == 0) return x;
  with_workspace([&](double* work, lapack_int length) {
    return LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', as_int(b.size()), 1, as_int(rank), a.data(),
                               leading(a.rows()), scales.data(), b.data(), leading(b.size()), work, length);
  });
  LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', as_int(rank), 1, a.data(), leading(a.rows()), b.data(),
                      leading(b.size()));
  for (Index k = 0; k < rank; ++k) x(order[static_cast<std::size_t>(k)] - 1) = b(k);
  return x;
}

}  // namespace gaussmith
