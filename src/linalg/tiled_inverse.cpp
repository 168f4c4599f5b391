#include "linalg/tiled.hpp"
#include "linalg/tiles.hpp"

namespace gaussmith::tiled {

namespace {

// Adds the tasks that invert the triangle of tiles [begin, end), by halves:
//   [L1 0; B L2]^-1 = [L1^-1 0; -L2^-1 B L1^-1, L2^-1].
// Columns of L2^-1 B and rows of (.) L1^-1 do not depend on each other, nor do the halves, whose inverses are
// multiplied: DTRMM is faster than DTRSM.
void add_inverse(Index begin, Index end, TileGraph& tiles, MatrixView& lower) {
  const auto triangle = [&lower, &tiles](Index i, Index i_end) {
    return lower.block(tiles.at(i), tiles.at(i), tiles.rows(i, i_end), tiles.rows(i, i_end));
  };
  if (end - begin == 1) {
    tiles.add({}, {begin, end, begin, end}, [=] { serial::invert_lower(triangle(begin, end)); });
    return;
  }
  const Index half = begin + (end - begin) / 2;
  add_inverse(begin, half, tiles, lower);
  add_inverse(half, end, tiles, lower);
  for (Index j = begin; j < half; ++j)
    tiles.add({{half, end, half, end}}, {half, end, j, j + 1}, [=, &lower, &tiles] {
      serial::multiply_left(-1.0, triangle(half, end), As::is,
                            lower.block(tiles.at(half), tiles.at(j), tiles.rows(half, end), tiles.rows(j)));
    });
  for (Index i = half; i < end; ++i)
    tiles.add({{begin, half, begin, half}}, {i, i + 1, begin, half}, [=, &lower, &tiles] {
      serial::multiply_right(1.0, triangle(begin, half), As::is,
                             lower.block(tiles.at(i), tiles.at(begin), tiles.rows(i), tiles.rows(begin, half)));
    });
}

}  // namespace

void invert_lower(MatrixView lower, int threads) {
  if (lower.rows() == 0) return;
  TileGraph tiles(lower.rows());
  add_inverse(0, tiles.count(), tiles, lower);
  tiles.run(threads);
}

}  // namespace gaussmith::tiled
