#include "gaussian/distinct_rows.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

TEST(DistinctRows, FirstOnesInOrderAndWhereEachRowWent) {
  Matrix rows(6, 2);
  rows << 2.0, 1.0, -1.0, 0.0, 2.0, 1.0, 2.0, 1.5, -1.0, -0.0, 0.0, 0.0;
  const DistinctRows found = distinct_rows(rows);
  EXPECT_EQ(found.first, (std::vector<Index>{0, 1, 3, 5}));
  EXPECT_EQ(found.of, (std::vector<Index>{0, 1, 0, 2, 1, 3}));  // 0 and -0 are equal.
  EXPECT_TRUE(found.any_copies());
  EXPECT_FALSE(distinct_rows(rows.topRows(2)).any_copies());
  EXPECT_FALSE(distinct_rows(Matrix(0, 2)).any_copies());
}

}  // namespace
}  // namespace gaussmith
