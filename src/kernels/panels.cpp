#include "kernels/panels.hpp"

#include "base/parallel_blocks.hpp"
#include "kernels/strips.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

Span column_part(Matrix& out, Index column, Index begin, Index end) {
  return {&out(begin, column), static_cast<std::size_t>(end - begin)};
}

// Copies out(i, j), j < i, to out(j, i) for rows [row_begin, row_end) of columns [begin, end). Small squares, because a
// whole row of a tile can fall on one cache set when the size is a power of two.
void mirror_tile(Index begin, Index end, Index row_begin, Index row_end, Matrix& out) {
  constexpr Index square = 8;
  for (Index i0 = row_begin; i0 < row_end; i0 += square) {
    const Index i1 = std::min(row_end, i0 + square);
    for (Index j0 = begin; j0 < std::min(end, i1); j0 += square) {
      for (Index i = i0; i < i1; ++i) {
        const Index j1 = std::min({end, i, j0 + square});
        for (Index j = j0; j < j1; ++j) out(j, i) = out(i, j);
      }
    }
  }
}

}  // namespace

void fill_rectangle(Index rows, Index columns, int threads, Matrix& out, const FillStrip& fill) {
  out.resize(rows, columns);
  parallel_blocks(columns, panel_columns, threads, [&](Index begin, Index end) {
    for (Index row = 0; row < rows; row += strip_rows) {
      const Index row_end = std::min(rows, row + strip_rows);
      for (Index j = begin; j < end; ++j) fill(j, row, column_part(out, j, row, row_end));
    }
  });
}

void fill_symmetric(Index size, int threads, Matrix& out, const FillStrip& fill) {
  out.resize(size, size);
  parallel_blocks(size, panel_columns, threads, [&](Index begin, Index end) {
    for (Index row = begin; row < size; row += strip_rows) {
      const Index row_end = std::min(size, row + strip_rows);
      for (Index j = begin; j < end; ++j) {
        const Index first = std::max(row, j);
        fill(j, first, column_part(out, j, first, row_end));
      }
      mirror_tile(begin, end, row, row_end, out);
    }
  });
}

namespace {

/// Calls panel(begin, end, scratch, gradient) for panels of columns, each with a gradient of its own; their sum.
template <class Panel>
Vector sum_panels(Index columns, int threads, Index parameters, Index scratch_columns, const Panel& panel) {
  Matrix partial = Matrix::Zero(parameters, (columns + panel_columns - 1) / panel_columns);
  parallel_blocks(columns, panel_columns, threads, [&](Index begin, Index end) {
    Matrix scratch(strip_rows, scratch_columns);
    Vector gradient = Vector::Zero(parameters);
    panel(begin, end, scratch, gradient);
    partial.col(begin / panel_columns) = gradient;
  });
  Vector total = Vector::Zero(parameters);
  for (Index p = 0; p < partial.cols(); ++p) total += partial.col(p);
  return total;
}

}  // namespace

Vector sum_rectangle(const Matrix& weights, int threads, Index parameters, Index scratch_columns, const AddStrip& add) {
  return sum_panels(weights.cols(), threads, parameters, scratch_columns,
                    [&](Index begin, Index end, Matrix& scratch, Vector& gradient) {
                      for (Index row = 0; row < weights.rows(); row += strip_rows) {
                        const auto count = static_cast<std::size_t>(std::min(strip_rows, weights.rows() - row));
                        for (Index j = begin; j < end; ++j) add({j, row, {&weights(row, j), count}, scratch}, gradient);
                      }
                    });
}

Vector sum_symmetric(const Matrix& weights, int threads, Index parameters, Index scratch_columns, const AddStrip& add) {
  const Index size = weights.cols();
  return sum_panels(size, threads, parameters, scratch_columns,
                    [&](Index begin, Index end, Matrix& scratch, Vector& gradient) {
                      Vector doubled(strip_rows);
                      for (Index row = begin; row < size; row += strip_rows) {
                        const Index row_end = std::min(size, row + strip_rows);
                        for (Index j = begin; j < end; ++j) {
                          const Index first = std::max(row, j);
                          const Index count = row_end - first;
                          doubled.head(count) = 2.0 * weights.col(j).segment(first, count);
                          if (first == j) doubled[0] = weights(j, j);
                          add({j, first, {doubled.data(), static_cast<std::size_t>(count)}, scratch}, gradient);
                        }
                      }
                    });
}

Matrix sum_by_column(const Matrix& weights, int threads, Index dimension, Index scratch_columns,
                     const AddPointStrip& add) {
  Matrix sums = Matrix::Zero(dimension, weights.cols());
  parallel_blocks(weights.cols(), panel_columns, threads, [&](Index begin, Index end) {
    Matrix scratch(strip_rows, scratch_columns);
    for (Index j = begin; j < end; ++j)
      for (Index row = 0; row < weights.rows(); row += strip_rows) {
        const auto count = static_cast<std::size_t>(std::min(strip_rows, weights.rows() - row));
        add({j, row, {&weights(row, j), count}, scratch}, {&sums(0, j), static_cast<std::size_t>(dimension)});
      }
  });
  return sums.transpose();
}

}  // namespace gaussmith
