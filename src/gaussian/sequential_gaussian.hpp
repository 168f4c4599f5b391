#pragma once
// A Gaussian whose sites change one at a time, in row order: the work of a sequential sweep, in blocks.
//
// Within a block of b rows only their b x b covariance is kept current, by rank-one updates that stay in cache. At the
// end of the block its changes reach the rest in one step, S -= U W U', through DSYRK. In the covariance form only rows
// still to come are updated, so that a sweep costs N^3 / 3 flops like a Cholesky factorisation; in the precision form
// N D (2 D + b), always without an N x N matrix.

#include "linalg/dense.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace gaussmith {

class SequentialGaussian {
 public:
  /// How rows are made of the coordinates: rows [begin, end), transposed, and the rows at coordinates zero.
  struct Rows {
    std::function<Matrix(Index begin, Index end)> transposed;
    Vector at_zero;
  };

  /// The rows of eta themselves are the coordinates, with this covariance (lower triangle) and mean.
  SequentialGaussian(Matrix covariance, Vector mean);
  /// Rows are linear in the coordinates, which have this covariance (lower triangle) and mean. What `rows` holds must
  /// outlive the object.
  SequentialGaussian(Matrix covariance, Vector mean, Rows rows);

  static constexpr Index block_rows = 48;

  /// Makes rows [begin, end) the current block; blocks come in row order, each once.
  void open_block(Index begin, Index end);
  [[nodiscard]] double mean(Index row) const { return mean_(row - begin_); }
  [[nodiscard]] double variance(Index row) const { return covariance_(row - begin_, row - begin_); }
  /// Adds to the precision and the shift of one site of the block. Needs 1 + precision_change * variance(row) > 0,
  /// which is exactly what keeps the Gaussian proper.
  void change_site(Index row, double precision_change, double shift_change);
  void close_block();

  /// visit(row) for all rows in order, blocks opened and closed around them.
  template <class Visit>
  void sweep_rows(Index rows, const Visit& visit) {
    for (Index begin = 0; begin < rows; begin += block_rows) {
      const Index end = std::min(rows, begin + block_rows);
      open_block(begin, end);
      for (Index row = begin; row < end; ++row) visit(row);
      close_block();
    }
  }

 private:
  [[nodiscard]] bool rows_are_coordinates() const { return !make_rows_.transposed; }

  Matrix whole_;  // Covariance of the coordinates, lower.
  Vector whole_mean_;
  Rows make_rows_;  // Empty where the rows are the coordinates.
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
