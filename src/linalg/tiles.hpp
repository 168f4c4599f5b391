#pragma once

#include "base/task_graph.hpp"
#include "gaussmith/types.hpp"

#include <algorithm>
#include <functional>
#include <vector>

namespace gaussmith {

/// Cuts [0, size) into pieces of about a `parts`-th, of at least `smallest` and at most `largest`. Depends on the size
/// alone, so that results do not change with the number of threads.
[[nodiscard]] inline Index piece_width(Index size, Index parts, Index smallest, Index largest) {
  constexpr Index grain = 16;  // Whole micro-kernels of BLAS.
  const Index even = (size / parts + grain - 1) / grain * grain;
  return std::clamp(even, smallest, largest);
}

/// Tiles [row_begin, row_end) x [column_begin, column_end) of a lower triangle, those above the diagonal left out.
struct TileBlock {
  Index row_begin, row_end, column_begin, column_end;
};

/// The lower triangle of an N x N matrix cut into tiles, and tasks that read and write some of them.
class TileGraph {
 public:
  explicit TileGraph(Index size)
      : size_(size), width_(piece_width(size, 6, 96, 256)), graph_(count() * (count() + 1) / 2) {}

  [[nodiscard]] Index count() const { return (size_ + width_ - 1) / width_; }
  /// The first row of tile row i, and the number of rows of tile rows [i, end).
  [[nodiscard]] Index at(Index i) const { return std::min(size_, i * width_); }
  [[nodiscard]] Index rows(Index i, Index end) const { return at(end) - at(i); }
  [[nodiscard]] Index rows(Index i) const { return rows(i, i + 1); }

  void add(const std::vector<TileBlock>& reads, const TileBlock& writes, std::function<void()> task) {
    std::vector<Index> read;
    for (const TileBlock& block : reads) append(block, read);
    std::vector<Index> written;
    append(writes, written);
    graph_.add(read, written, std::move(task));
  }

  void run(int threads) { graph_.run(threads); }

 private:
  static void append(const TileBlock& block, std::vector<Index>& tiles) {
    for (Index i = block.row_begin; i < block.row_end; ++i)
      for (Index j = block.column_begin; j < std::min(block.column_end, i + 1); ++j)
        tiles.push_back(i * (i + 1) / 2 + j);
  }

  Index size_;
  Index width_;
  TaskGraph graph_;
};

}  // namespace gaussmith
