#include "linalg/dense.hpp"

#include "linalg/blas_threads.hpp"
#include "support/dense.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

Matrix random_positive_definite(Index n) {
  std::srand(7);
  const Matrix a = Matrix::Random(n, n);
  return a * a.transpose() + 0.5 * Matrix::Identity(n, n);
}

TEST(Dense, CholeskyAndInverseSatisfyTheirDefinitions) {
  const Matrix a = random_positive_definite(37);
  Matrix lower = a;
  ASSERT_TRUE(cholesky(lower));
  const Matrix l = lower.triangularView<Eigen::Lower>();
  EXPECT_LT((l * l.transpose() - a).cwiseAbs().maxCoeff(), 1e-12 * a.norm());
  EXPECT_NEAR(half_log_determinant(lower), 0.5 * std::log(testing::dense_determinant(a)), 1e-10);

  Matrix inverse = lower;
  invert_lower(inverse);
  const Matrix li = inverse.triangularView<Eigen::Lower>();
  EXPECT_LT((li * l - Matrix::Identity(37, 37)).cwiseAbs().maxCoeff(), 1e-11);
  lower_transposed_times_lower(inverse);
  mirror_lower(inverse);
  EXPECT_LT((inverse * a - Matrix::Identity(37, 37)).cwiseAbs().maxCoeff(), 1e-10);
}

TEST(Dense, CholeskyRefusesIndefiniteAndNotANumber) {
  Matrix a = random_positive_definite(5);
  a(3, 3) = -1.0;
  EXPECT_FALSE(cholesky(a));
  Matrix b = random_positive_definite(5);
  b(4, 1) = std::nan("");
  EXPECT_FALSE(cholesky(b));
}

TEST(Dense, SolvesAndProducts) {
  const Matrix a = random_positive_definite(20);
  Matrix lower = a;
  ASSERT_TRUE(cholesky(lower));
  Vector b = Vector::LinSpaced(20, -1, 2);
  Vector x = b;
  solve_lower(lower, x);
  solve_lower_transposed(lower, x);
  EXPECT_LT((a * x - b).norm(), 1e-11);
  Matrix rhs = Matrix::Random(20, 4);
  Matrix y = rhs;
  solve_lower(lower, y);
  solve_lower_transposed(lower, y);
  EXPECT_LT((a * y - rhs).norm(), 1e-11);
  EXPECT_LT((symmetric_times(a, b) - a * b).norm(), 1e-12);
  EXPECT_LT((symmetric_times(a, rhs) - a * rhs).norm(), 1e-12);
  EXPECT_LT((transposed_times(rhs, rhs) - rhs.transpose() * rhs).norm(), 1e-13);
  EXPECT_LT((times(a, rhs) - a * rhs).norm(), 1e-12);
  EXPECT_LT((times_transposed(rhs, rhs) - rhs * rhs.transpose()).norm(), 1e-13);
  Matrix c = Matrix::Zero(4, 4);
  add_gram(2.0, rhs, 0.0, c);
  mirror_lower(c);
  EXPECT_LT((c - 2.0 * rhs.transpose() * rhs).norm(), 1e-13);
  Matrix d = Matrix::Identity(20, 20);
  add_outer(-1.0, rhs, 1.0, d);
  mirror_lower(d);
  EXPECT_LT((d - (Matrix::Identity(20, 20) - rhs * rhs.transpose())).norm(), 1e-13);
}

TEST(Dense, MirrorsMatricesOfManyTilesOnThreads) {
  const BlasThreads blas(2);
  for (const Index n : {1, 63, 64, 65, 1091}) {
    Matrix a = Matrix::Random(n, n);
    const Matrix lower = a.triangularView<Eigen::Lower>();
    mirror_lower(a);
    EXPECT_EQ(a, Matrix(lower.selfadjointView<Eigen::Lower>())) << n;
  }
}

TEST(Dense, PivotedCholeskyFindsTheRankOfCorrelations) {
  std::srand(3);
  const Matrix f = Matrix::Random(12, 4);
  const Matrix a = f * f.transpose();
  const PivotedCholesky p = pivoted_cholesky(a);
  EXPECT_EQ(p.rank(), 4);
  EXPECT_LT((p.factor * p.factor.transpose() - a).cwiseAbs().maxCoeff(), 1e-13);
  for (Index i = 0; i < 4; ++i)
    for (Index j = i + 1; j < 4; ++j) EXPECT_EQ(p.factor(p.pivots[static_cast<std::size_t>(i)], j), 0.0);
  // A variance of 1 beside one of 1e20 is not rounding.
  const Matrix wide = (Vector(3) << 1e20, 1.0, 0.0).finished().asDiagonal();
  const PivotedCholesky w = pivoted_cholesky(wide);
  EXPECT_EQ(w.rank(), 2);
  EXPECT_NEAR(w.factor.row(0).squaredNorm(), 1e20, 1e5);
  EXPECT_NEAR(w.factor.row(1).squaredNorm(), 1.0, 1e-15);
}

}  // namespace
}  // namespace gaussmith
