// Choices: what is promised of their form, and that every choice is as likely as another.

#include "base/random_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

TEST(RandomChoice, OrdersHoldEveryNumberOnceAndEveryPlaceIsAsLikely) {
  const Index count = 5;
  const int repeats = 20000;
  std::vector<int> first(static_cast<std::size_t>(count), 0), last = first;
  for (int seed = 0; seed < repeats; ++seed) {
    std::vector<Index> order = random_order(count, static_cast<std::uint64_t>(seed));
    ++first[static_cast<std::size_t>(order.front())];
    ++last[static_cast<std::size_t>(order.back())];
    std::sort(order.begin(), order.end());
    for (Index i = 0; i < count; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  }
  const double expected = repeats / 5.0;
  for (const auto& counts : {first, last})
    for (const int times : counts) EXPECT_LT(std::abs(times - expected), 5.0 * std::sqrt(expected));
}

TEST(RandomChoice, SubsetsAscendAndTakeEveryNumberAsOften) {
  const int repeats = 20000;
  std::vector<int> taken(7, 0);
  for (int seed = 0; seed < repeats; ++seed) {
    const std::vector<Index> chosen = random_subset(7, 3, static_cast<std::uint64_t>(seed));
    ASSERT_EQ(chosen.size(), 3U);
    ASSERT_TRUE(chosen[0] < chosen[1] && chosen[1] < chosen[2]);
    for (const Index i : chosen) ++taken[static_cast<std::size_t>(i)];
  }
  const double expected = repeats * 3.0 / 7.0;
  for (const int times : taken) EXPECT_LT(std::abs(times - expected), 5.0 * std::sqrt(expected));
  EXPECT_EQ(random_subset(3, 5, 1), (std::vector<Index>{0, 1, 2}));
}

}  // namespace
}  // namespace gaussmith
