#pragma once
// A Gaussian whose sites change one at a time, in row order: the work of a sequential sweep, in blocks.
//
// Within a block of b rows only their b x b covariance is kept current, by rank-one updates that stay in cache. At the
// end of the block its changes reach the rest in one step, S -= U W U', through DSYRK. In the covariance form only rows
// still to come are updated, so that a sweep costs N^3 / 3 flops like a Cholesky factorisation; in the precision form
// N D (2 D + b), always without an N x N matrix.

#include "gaussian/core.hpp"

#include <vector>

namespace gaussmith {

class SequentialGaussian {
 public:
  /// Starts at the core's current factorisation and this mean. The core must outlive it.
  SequentialGaussian(const GaussianCore& core, const LatentPoint& mean);

  static constexpr Index block_rows = 48;

  /// Makes rows [begin, end) the current block; blocks come in row order, each once.
  void open_block(Index begin, Index end);
  [[nodiscard]] double mean(Index row) const { return mean_(row - begin_); }
  [[nodiscard]] double variance(Index row) const { return covariance_(row - begin_, row - begin_); }
  /// Adds to the precision and the shift of one site of the block. Needs 1 + precision_change * variance(row) > 0,
  /// which is exactly what keeps the Gaussian proper.
  void change_site(Index row, double precision_change, double shift_change);
  void close_block();

 private:
  const GaussianCore* core_;
  bool rows_are_coordinates_;  // Covariance form.
  Matrix whole_;               // Covariance of the coordinates, lower.
  Vector whole_mean_;
  Index begin_ = 0, end_ = 0;
  Matrix rows_;        // The block's rows in the coordinates, transposed; unused in the covariance form.
  Matrix cross_;       // Covariance of the coordinates with the block's rows.
  Matrix covariance_;  // Of the block's rows, b x b.
  Vector mean_;        // Of the block's rows.
  Matrix directions_;  // Change i moves the coordinates along cross_ * directions_.col(i).
  Matrix columns_;     // Covariance of the block with the row of change i, at that change.
  std::vector<double> weights_, moves_;
};

}  // namespace gaussmith
