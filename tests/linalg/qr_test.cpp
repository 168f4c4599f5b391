#include "linalg/qr.hpp"

#include "linalg/random_matrix.hpp"

#include <gtest/gtest.h>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::dense_transposed_product;
using testing::distance;
using testing::normal_matrix;

TEST(Qr, TriangularFactorHasTheGramMatrix) {
  Random random(1);
  for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 1}, {7, 7}, {90, 40}, {30, 0}}) {
    const Matrix a = normal_matrix(rows, columns, random);
    const Matrix r = triangular_factor(a);
    ASSERT_EQ(r.rows(), columns);
    EXPECT_LT(distance(dense_transposed_product(r, r), dense_transposed_product(a, a)),
              1e-13 * (1.0 + a.squaredNorm()));
    for (Index i = 0; i < columns; ++i) {
      EXPECT_GT(r(i, i), 0.0);
      for (Index j = 0; j < i; ++j) EXPECT_EQ(r(i, j), 0.0);
    }
  }
}

TEST(Qr, RowsAddedInBlocksGiveTheFactorOfAll) {
  Random random(4);
  for (const auto& [rows, columns] : {std::pair<Index, Index>{3, 5}, {90, 40}, {200, 33}, {1, 1}}) {
    const Matrix a = normal_matrix(rows, columns, random);
    Matrix upper = Matrix::Identity(columns, columns);
    for (Index begin = 0; begin < rows; begin += 37) {
      Matrix block = a.middleRows(begin, std::min<Index>(37, rows - begin));
      add_rows(upper, block);
    }
    const Matrix r = upper.triangularView<Eigen::Upper>();
    const Matrix expected = dense_transposed_product(a, a) + Matrix::Identity(columns, columns);
    EXPECT_LT(distance(dense_transposed_product(r, r), expected), 1e-13 * expected.norm());
  }
}

TEST(Qr, OrthonormalColumnsSpanTheSameSpace) {
  Random random(2);
  const Matrix a = normal_matrix(60, 25, random);
  const Matrix q = orthonormal_columns(a);
  EXPECT_LT(distance(dense_transposed_product(q, q), Matrix::Identity(25, 25)), 1e-13);
  EXPECT_LT(distance(dense_product(q, dense_transposed_product(q, a)), a), 1e-13 * a.norm());
}

/// |A'(A x - b)|, zero at the least squares.
double slope(const Matrix& a, const Vector& x, const Vector& b) {
  return dense_transposed_product(a, dense_product(a, x) - b).norm();
}

TEST(Qr, LeastSquaresLeaveAResidualAtRightAngles) {
  Random random(3);
  const Matrix a = normal_matrix(50, 8, random);
  const Vector b = normal_matrix(50, 1, random);
  const Vector x = least_squares(a, b, 1e-12);
  EXPECT_LT(slope(a, x, b), 1e-12 * a.norm() * b.norm());
  EXPECT_LT(distance(least_squares(a, dense_product(a, x), 1e-12), x), 1e-13 * (1.0 + x.norm()));
}

TEST(Qr, LeastSquaresLeaveOutColumnsThatAddNothing) {
  Random random(4);
  Matrix a = normal_matrix(20, 5, random);
  a.col(3) = a.col(0) - 2.0 * a.col(1);
  a.col(4).setZero();
  const Vector b = normal_matrix(20, 1, random);
  const Vector x = least_squares(a, b, 1e-10);
  EXPECT_LT(slope(a, x, b), 1e-12 * a.norm() * b.norm());
  EXPECT_EQ((x.array() == 0.0).count(), 2);
  EXPECT_EQ(x(4), 0.0);
  // More columns than rows: at most as many are used.
  const Matrix wide = normal_matrix(3, 6, random);
  const Vector y = least_squares(wide, b.head(3), 1e-12);
  EXPECT_LT(distance(dense_product(wide, y), b.head(3)), 1e-13 * b.norm());
  EXPECT_EQ((y.array() == 0.0).count(), 3);
  EXPECT_EQ(least_squares(Matrix::Zero(4, 2), Vector::Ones(4), 1e-12).norm(), 0.0);
}

}  // namespace
}  // namespace gaussmith
