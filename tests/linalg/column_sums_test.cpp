#include "linalg/column_sums.hpp"

#include "linalg/random_matrix.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using testing::normal_matrix;

TEST(ColumnSums, EqualPlainSumsForEveryRemainder) {
  Random random(13);
  const Matrix x = normal_matrix(37, 11, random);
  const Matrix y = normal_matrix(37, 11, random);
  for (const Index columns : {0, 1, 3, 4, 5, 8, 11})
    for (const Index outputs : {1, 2, 3, 5}) {
      std::vector<Index> chosen;
      for (Index j = 0; j < columns; ++j) chosen.push_back((3 * j) % 11);
      const Matrix weight = normal_matrix(columns, outputs, random);
      Matrix sums = Matrix::Ones(x.rows(), outputs);
      Matrix expected = sums;
      for (Index j = 0; j < columns; ++j)
        expected += x.col(chosen[static_cast<std::size_t>(j)]).cwiseAbs2() * weight.row(j);
      add_weighted_squares(x, chosen, weight, sums);
      EXPECT_LT((sums - expected).cwiseAbs().maxCoeff(), 1e-12);
      Vector products = Vector::Ones(x.rows());
      add_row_products(x.leftCols(columns), y.leftCols(columns), products);
      const Vector plain =
          Vector::Ones(x.rows()) + x.leftCols(columns).cwiseProduct(y.leftCols(columns)).rowwise().sum();
      EXPECT_LT((products - plain).cwiseAbs().maxCoeff(), 1e-12);
    }
  EXPECT_NEAR(weighted_square(x.col(0), y.col(0)), (x.col(0).cwiseAbs2().cwiseProduct(y.col(0))).sum(), 1e-12);
}

}  // namespace
}  // namespace gaussmith
