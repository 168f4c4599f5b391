#include "gaussian/sequential_gaussian.hpp"

#include <cassert>
#include <cmath>
#include <utility>

namespace gaussmith {

SequentialGaussian::SequentialGaussian(Matrix covariance, Vector mean)
    : SequentialGaussian(std::move(covariance), std::move(mean), Rows{}) {}

SequentialGaussian::SequentialGaussian(Matrix covariance, Vector mean, Rows rows)
    : whole_(std::move(covariance)), whole_mean_(std::move(mean)), make_rows_(std::move(rows)) {}

void SequentialGaussian::open_block(Index begin, Index end) {
  begin_ = begin;
  end_ = end;
  const Index count = end - begin;
  if (rows_are_coordinates()) {
    // Rows before the block have had their turn: nothing of them is needed in this sweep any more.
    covariance_ = whole_.block(begin, begin, count, count).selfadjointView<Eigen::Lower>();
    cross_ = whole_.block(end, begin, whole_.rows() - end, count);
    mean_ = whole_mean_.segment(begin, count);
  } else {
    rows_ = make_rows_.transposed(begin, end);
    cross_ = symmetric_times(whole_, rows_);
    covariance_ = transposed_times(rows_, cross_);
    mean_ = make_rows_.at_zero.segment(begin, count) + transposed_times(rows_, whole_mean_);
  }
  directions_.resize(count, count);
  columns_.resize(count, count);
  weights_.clear();
  moves_.clear();
}

void SequentialGaussian::change_site(Index row, double precision_change, double shift_change) {
  const Index j = row - begin_;
  const auto change = static_cast<Index>(weights_.size());
  assert(change < directions_.cols());
  const double scale = 1.0 + precision_change * covariance_(j, j);
  assert(scale > 0.0);
  weights_.push_back(precision_change / scale);
  moves_.push_back((shift_change - precision_change * mean_(j)) / scale);
  // The direction of this change in the original cross-covariances: row j less what the changes before it took away.
  directions_.col(change) = Vector::Unit(directions_.rows(), j);
  for (Index i = 0; i < change; ++i)
    directions_.col(change) -= weights_[static_cast<std::size_t>(i)] * columns_(j, i) * directions_.col(i);
  columns_.col(change) = covariance_.col(j);
  covariance_.noalias() -= weights_.back() * columns_.col(change) * columns_.col(change).transpose();
  mean_ += moves_.back() * columns_.col(change);
}

void SequentialGaussian::close_block() {
  const auto changes = static_cast<Index>(weights_.size());
  if (changes == 0 || cross_.rows() == 0) return;
  Matrix moved = times(cross_, directions_.leftCols(changes));
  const Index first = rows_are_coordinates() ? end_ : 0;
  whole_mean_.tail(moved.rows()) += moved * Eigen::Map<const Vector>(moves_.data(), changes);
  // DSYRK knows one sign a call.
  for (const double sign : {1.0, -1.0}) {
    Index used = 0;
    Matrix scaled(moved.rows(), changes);
    for (Index i = 0; i < changes; ++i) {
      const double weight = sign * weights_[static_cast<std::size_t>(i)];
      if (weight > 0.0) scaled.col(used++) = std::sqrt(weight) * moved.col(i);
    }
    if (used > 0)
      add_outer(-sign, scaled.leftCols(used), 1.0,
                whole_.bottomRightCorner(whole_.rows() - first, whole_.rows() - first));
  }
}

}  // namespace gaussmith
