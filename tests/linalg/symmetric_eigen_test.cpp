#include "linalg/symmetric_eigen.hpp"

#include "linalg/random_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::dense_transposed_product;
using testing::distance;

TEST(SymmetricEigen, SatisfiesItsDefinition) {
  Random random(5);
  for (const Index size : {1, 2, 33, 120}) {
    const Matrix half = testing::normal_matrix(size, size, random);
    const Matrix a = half + half.transpose();
    // The upper triangle is not read.
    Matrix lower = a;
    lower.triangularView<Eigen::StrictlyUpper>().setConstant(std::numeric_limits<double>::quiet_NaN());
    const SymmetricEigen e = symmetric_eigen(lower);
    Matrix scaled = e.vectors;
    for (Index j = 0; j < size; ++j) scaled.col(j) *= e.values(j);
    const double rounding = 1e-13 * static_cast<double>(size);
    EXPECT_LT(distance(dense_product(a, e.vectors), scaled), rounding * a.norm());
    EXPECT_LT(distance(dense_transposed_product(e.vectors, e.vectors), Matrix::Identity(size, size)), rounding);
    for (Index i = 1; i < size; ++i) EXPECT_LE(e.values(i - 1), e.values(i));
  }
  EXPECT_EQ(symmetric_eigen(Matrix(0, 0)).values.size(), 0);
}

TEST(SymmetricEigen, FindsGivenEigenvalues) {
  Random random(6);
  const Vector values = (Vector(6) << -3.0, -1e-8, 0.0, 2.0, 2.0, 1e6).finished();
  const SymmetricEigen e = symmetric_eigen(testing::symmetric_with(values, random));
  EXPECT_LT(distance(e.values, values), 1e-14 * 1e6 * 6.0);
}

TEST(SymmetricEigen, NotANumberComesOutAsSuch) {
  Matrix a = Matrix::Identity(4, 4);
  a(2, 1) = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(symmetric_eigen(a).values(0)));
}

}  // namespace
}  // namespace gaussmith
