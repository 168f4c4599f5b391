// The factor over rows against explicit inverses and determinants over the weights.

#include "gaussian/row_factor.hpp"

#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

TEST(RowFactor, IsTheInverseOverTheWeights) {
  const Index rows = 6;
  const Index weights = 11;
  const Matrix h = random_matrix(rows, weights, 3);
  const Vector own = random_vector(weights, 4).cwiseAbs2().array() + 0.1;
  Vector precision = random_vector(rows, 5).cwiseAbs();
  precision(2) = 0.0;
  const Matrix x = random_matrix(weights, 70, 6);
  const Matrix a = Matrix(h.transpose() * precision.asDiagonal() * h) + Matrix(own.asDiagonal());
  for (const Design& design : {Design(h), Design(SparseMatrix(h.sparseView()))}) {
    RowFactor factor;
    EXPECT_FALSE(factor.exists());
    ASSERT_TRUE(factor.factorise(design, precision, own, 1));
    EXPECT_LT((factor.solve(design, x, 1) - dense_inverse(a) * x).lpNorm<Eigen::Infinity>(), 1e-11);
    EXPECT_NEAR(factor.log_determinant(), std::log(dense_determinant(a)), 1e-11);
    // Any number of threads gives the same bits.
    EXPECT_EQ(factor.solve(design, x, 1), factor.solve(design, x, 2));
  }
}

TEST(RowFactor, IsRefusedWhereAWeightHasNoPrecisionOfItsOwn) {
  const Design design(random_matrix(3, 4, 1));
  RowFactor factor;
  ASSERT_TRUE(factor.factorise(design, Vector::Ones(3), Vector::Ones(4), 1));
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    Vector own = Vector::Ones(4);
    own(2) = bad;
    EXPECT_FALSE(factor.factorise(design, Vector::Ones(3), own, 1));
    EXPECT_FALSE(factor.exists());
  }
}

}  // namespace
}  // namespace gaussmith
