#include "gaussian/row_factor.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/dense.hpp"

namespace gaussmith {

namespace {

/// Right sides that a thread solves together: blocks of solves have few columns, and each thread should have some.
constexpr Index columns_at_once = 32;
/// Columns of B that a thread scales together.
constexpr Index scaled_at_once = 128;

}  // namespace

bool RowFactor::factorise(const Design& rows, const Vector& precision, const Vector& own, int threads) {
  lower_.resize(0, 0);
  if (!(own.array() > 0.0).all() || !own.allFinite()) return false;
  precision_ = precision;
  own_ = own;
  const Vector root = precision.cwiseSqrt();
  Matrix b = rows.outer(own.cwiseInverse(), threads);
  parallel_blocks(b.cols(), scaled_at_once, threads, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) {
      b.col(n).array() *= root(n) * root.array();
      b(n, n) += 1.0;
    }
  });
  if (!b.diagonal().allFinite() || !cholesky(b)) return false;
  lower_ = std::move(b);
  return true;
}

Matrix RowFactor::solve(const Design& rows, const Matrix& x, int threads) const {
  const Vector variance = own_.cwiseInverse();
  const Vector root = precision_.cwiseSqrt();
  Matrix out = variance.asDiagonal() * x;
  Matrix seen = rows.times(out, threads);
  parallel_blocks(seen.cols(), columns_at_once, threads, [&](Index begin, Index end) {
    auto part = seen.middleCols(begin, end - begin);
    part.array().colwise() *= root.array();
    serial::solve_left(1.0, lower_, As::is, part);
    serial::solve_left(1.0, lower_, As::transposed, part);
    part.array().colwise() *= root.array();
  });
  out -= variance.asDiagonal() * rows.transposed_times(seen, threads);
  return out;
}

double RowFactor::log_determinant() const { return own_.array().log().sum() + 2.0 * half_log_determinant(lower_); }

}  // namespace gaussmith
