#include "linalg/tiled.hpp"
#include "linalg/tiles.hpp"

#include <atomic>

namespace gaussmith::tiled {

// Columns of tiles from left to right. A tile is updated by the columns before it in two steps: by all but the last one
// with a single long product, which needs nothing of the column that is being finished and fills the waits for its
// diagonal tile, and by the last one just before it is finished itself.
bool cholesky(MatrixView a, int threads) {
  TileGraph tiles(a.rows());
  std::atomic<bool> definite{true};
  const auto add = [&](const std::vector<TileBlock>& reads, const TileBlock& writes, auto task) {
    tiles.add(reads, writes, [&definite, task] {
      if (definite) task();
    });
  };
  const auto block = [&](Index i, Index i_end, Index j, Index j_end) {
    return a.block(tiles.at(i), tiles.at(j), tiles.rows(i, i_end), tiles.rows(j, j_end));
  };
  // A_ij -= L_i,first..last L_j,first..last'
  const auto reduce = [block](Index i, Index j, Index first, Index last) {
    const auto columns = block(j, j + 1, first, last);
    if (i == j)
      serial::add_square(-1.0, columns, As::is, 1.0, block(j, j + 1, j, j + 1));
    else
      serial::add_product(-1.0, block(i, i + 1, first, last), As::is, columns, As::transposed, 1.0,
                          block(i, i + 1, j, j + 1));
  };
  const Index count = tiles.count();
  for (Index j = 0; j < count; ++j) {
    const Index before = std::max<Index>(0, j - 1);
    add({{j, j + 1, before, j}}, {j, j + 1, j, j + 1}, [=, &definite] {
      reduce(j, j, before, j);
      if (!serial::cholesky(block(j, j + 1, j, j + 1))) definite = false;
    });
    for (Index i = j + 1; i < count; ++i)
      add({{i, i + 1, before, j}, {j, j + 1, before, j + 1}}, {i, i + 1, j, j + 1}, [=] {
        reduce(i, j, before, j);
        serial::solve_right(1.0, block(j, j + 1, j, j + 1), As::transposed, block(i, i + 1, j, j + 1));
      });
    if (j == 0) continue;
    for (Index i = j + 1; i < count; ++i)
      add({{i, i + 1, 0, j}, {j + 1, j + 2, 0, j}}, {i, i + 1, j + 1, j + 2}, [=] { reduce(i, j + 1, 0, j); });
  }
  tiles.run(threads);
  return definite;
}

}  // namespace gaussmith::tiled
