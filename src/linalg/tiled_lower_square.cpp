#include "linalg/tiled.hpp"
#include "linalg/tiles.hpp"

namespace gaussmith::tiled {

// Rows of tiles from top to bottom: (L'L)_ij = L_ii' L_ij + sum_{k > i} L_ki' L_kj needs rows i and below only.
void lower_transposed_times_lower(MatrixView lower, int threads) {
  TileGraph tiles(lower.rows());
  const Index count = tiles.count();
  const auto block = [&](Index i, Index i_end, Index j) {
    return lower.block(tiles.at(i), tiles.at(j), tiles.rows(i, i_end), tiles.rows(j));
  };
  for (Index i = 0; i < count; ++i) {
    for (Index j = 0; j < i; ++j)
      tiles.add({{i, count, i, i + 1}, {i + 1, count, j, j + 1}}, {i, i + 1, j, j + 1}, [=] {
        serial::multiply_left(1.0, block(i, i + 1, i), As::transposed, block(i, i + 1, j));
        serial::add_product(1.0, block(i + 1, count, i), As::transposed, block(i + 1, count, j), As::is, 1.0,
                            block(i, i + 1, j));
      });
    tiles.add({{i + 1, count, i, i + 1}}, {i, i + 1, i, i + 1}, [=] {
      serial::lower_transposed_times_lower(block(i, i + 1, i));
      serial::add_square(1.0, block(i + 1, count, i), As::transposed, 1.0, block(i, i + 1, i));
    });
  }
  tiles.run(threads);
}

}  // namespace gaussmith::tiled
