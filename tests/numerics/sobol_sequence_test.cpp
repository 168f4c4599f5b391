// What makes Sobol' points even, which scrambling keeps.

#include "numerics/sobol_sequence.hpp"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

namespace gaussmith {
namespace {

TEST(SobolSequence, EveryCoordinateVisitsEveryIntervalOnce) {
  Random random(41);
  const SobolSequence sequence(SobolSequence::most_dimensions, random);
  Vector point(SobolSequence::most_dimensions);
  for (const std::uint32_t from : {0U, 1024U, 4096U}) {
    std::vector<std::set<int>> visited(static_cast<std::size_t>(point.size()));
    for (std::uint32_t i = 0; i < 1024; ++i) {
      sequence.point(from + i, view(point));
      for (Index k = 0; k < point.size(); ++k)
        visited[static_cast<std::size_t>(k)].insert(static_cast<int>(point(k) * 1024));
    }
    for (const std::set<int>& cells : visited) EXPECT_EQ(cells.size(), 1024U);
  }
}

TEST(SobolSequence, FirstTwoDimensionsVisitEveryBoxOnce) {
  Random random(42);
  const SobolSequence sequence(2, random);
  Vector point(2);
  for (int across = 0; across <= 8; ++across) {
    std::set<std::pair<int, int>> boxes;
    for (std::uint32_t i = 0; i < 256; ++i) {
      sequence.point(i, view(point));
      boxes.emplace(static_cast<int>(point(0) * (1 << across)), static_cast<int>(point(1) * (1 << (8 - across))));
    }
    EXPECT_EQ(boxes.size(), 256U);
  }
}

TEST(SobolSequence, DimensionsBeyondTheTableAreUniform) {
  Random random(43);
  const SobolSequence sequence(70, random);
  Vector point(70);
  Vector mean = Vector::Zero(70);
  for (std::uint32_t i = 0; i < 4096; ++i) {
    sequence.point(i, view(point));
    ASSERT_TRUE((point.array() > 0.0).all() && (point.array() < 1.0).all());
    mean += point / 4096.0;
  }
  EXPECT_NEAR((mean.array() - 0.5).abs().maxCoeff(), 0.0, 0.02);
}

TEST(SobolSequence, BlocksHoldTheSamePoints) {
  Random random(9);
  const SobolSequence sequence(70, random);  // The last dimensions are plain random numbers.
  Matrix block(16, 70);
  sequence.block(32, block);
  for (std::uint32_t k = 0; k < 16; ++k) {
    Vector point(70);
    const std::uint32_t gray = k ^ (k >> 1);
    sequence.point(32 + gray, view(point));
    EXPECT_EQ(block.row(k).head(64).transpose(), point.head(64)) << k;
  }
  EXPECT_GT(block.minCoeff(), 0.0);
  EXPECT_LT(block.maxCoeff(), 1.0);
}

}  // namespace
}  // namespace gaussmith
