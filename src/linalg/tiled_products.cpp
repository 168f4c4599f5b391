#include "base/parallel_blocks.hpp"
#include "linalg/tiled.hpp"
#include "linalg/tiles.hpp"

namespace gaussmith::tiled {

namespace {

/// Columns or rows that a slice of a product has: the other factor is packed again for each slice.
Index slice_width(Index size) { return piece_width(size, 8, 64, 512); }

}  // namespace

void solve_left(ConstMatrixView lower, As as, MatrixView b, int threads) {
  parallel_blocks(b.cols(), slice_width(b.cols()), threads, [&](Index begin, Index end) {
    serial::solve_left(1.0, lower, as, b.middleCols(begin, end - begin));
  });
}

void set_product(ConstMatrixView a, As a_as, ConstMatrixView b, As b_as, MatrixView out, int threads) {
  if (out.cols() >= out.rows())
    parallel_blocks(out.cols(), slice_width(out.cols()), threads, [&](Index begin, Index end) {
      const Index width = end - begin;
      const ConstMatrixView part =
          b_as == As::is ? ConstMatrixView(b.middleCols(begin, width)) : ConstMatrixView(b.middleRows(begin, width));
      serial::add_product(1.0, a, a_as, part, b_as, 0.0, out.middleCols(begin, width));
    });
  else
    parallel_blocks(out.rows(), slice_width(out.rows()), threads, [&](Index begin, Index end) {
      const Index width = end - begin;
      const ConstMatrixView part =
          a_as == As::is ? ConstMatrixView(a.middleRows(begin, width)) : ConstMatrixView(a.middleCols(begin, width));
      serial::add_product(1.0, part, a_as, b, b_as, 0.0, out.middleRows(begin, width));
    });
}

void set_symmetric_product(ConstMatrixView symmetric_lower, ConstMatrixView x, MatrixView out, int threads) {
  parallel_blocks(x.cols(), slice_width(x.cols()), threads, [&](Index begin, Index end) {
    serial::set_symmetric_product(symmetric_lower, x.middleCols(begin, end - begin),
                                  out.middleCols(begin, end - begin));
  });
}

void add_square(double alpha, ConstMatrixView a, As as, double beta, MatrixView c, int threads) {
  const Index size = c.rows();
  const Index width = piece_width(size, 5, 64, 384);
  const auto part = [&](Index begin, Index end) {
    return as == As::is ? ConstMatrixView(a.middleRows(begin, end - begin))
                        : ConstMatrixView(a.middleCols(begin, end - begin));
  };
  const As other = as == As::is ? As::transposed : As::is;
  std::vector<std::pair<Index, Index>> tiles;
  for (Index i = 0; i < size; i += width)
    for (Index j = 0; j <= i; j += width) tiles.emplace_back(i, j);
  parallel_blocks(static_cast<Index>(tiles.size()), 1, threads, [&](Index tile, Index) {
    const auto [i, j] = tiles[static_cast<std::size_t>(tile)];
    const Index i_end = std::min(size, i + width);
    const Index j_end = std::min(size, j + width);
    MatrixView out = c.block(i, j, i_end - i, j_end - j);
    if (i == j)
      serial::add_square(alpha, part(i, i_end), as, beta, out);
    else
      serial::add_product(alpha, part(i, i_end), as, part(j, j_end), other, beta, out);
  });
}

}  // namespace gaussmith::tiled
