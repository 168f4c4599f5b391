#pragma once
// How N x N work is cut up: panels of columns, which may run in any order or at once, each made of strips of rows.

#include "gaussmith/types.hpp"

#include <functional>

namespace gaussmith {

/// Columns of a panel. Fixed, so that sums do not depend on who computes which panel.
inline constexpr Index panel_columns = 64;

/// Writes rows [first, first + out.size()) of a column; called with at most strip_rows rows.
using FillStrip = std::function<void(Index column, Index first, Span out)>;

/// out(i, j) for all i < rows, j < columns.
void fill_rectangle(Index rows, Index columns, int threads, Matrix& out, const FillStrip& fill);

/// out(i, j) for i >= j < size from `fill`, and its exact mirror image above the diagonal.
void fill_symmetric(Index size, int threads, Matrix& out, const FillStrip& fill);

/// A strip of a weighted sum: the weights of rows [first, first + weights.size()) of a column.
struct WeightedStrip {
  Index column;
  Index first;
  ConstSpan weights;
  Matrix& scratch;  ///< strip_rows x the columns asked for, private to the panel.
};

/// Adds sum_i weights[i] dk(i, column)/d log(parameter) to the gradient.
using AddStrip = std::function<void(const WeightedStrip& strip, Vector& gradient)>;

/// The sum over all strips of `weights`, panels added in order.
[[nodiscard]] Vector sum_rectangle(const Matrix& weights, int threads, Index parameters, Index scratch_columns,
                                   const AddStrip& add);

/// The same for symmetric `weights` and a symmetric k: the strips cover the lower triangle (the upper one is not read),
/// off-diagonal weights doubled.
[[nodiscard]] Vector sum_symmetric(const Matrix& weights, int threads, Index parameters, Index scratch_columns,
                                   const AddStrip& add);

/// Adds sum_i weights[i] dk(i, column)/d(point of the column) to the gradient of that point.
using AddPointStrip = std::function<void(const WeightedStrip& strip, Span gradient)>;

/// M x d: the sums over the strips of each column of `weights`.
[[nodiscard]] Matrix sum_by_column(const Matrix& weights, int threads, Index dimension, Index scratch_columns,
                                   const AddPointStrip& add);

}  // namespace gaussmith
