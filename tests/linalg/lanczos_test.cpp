#include "linalg/lanczos.hpp"

#include "linalg/random_matrix.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::dense_transposed_product;
using testing::distance;
using testing::normal_matrix;

std::function<Vector(const Vector&)> vector_product_with(const Matrix& a) {
  return [&a](const Vector& x) -> Vector { return testing::dense_product(a, x); };
}

TEST(Lanczos, KeepsItsRelations) {
  Random random(13);
  const Matrix a = testing::symmetric_with(Vector::LinSpaced(70, -1.0, 20.0).array().square(), random);
  const Vector start = normal_matrix(70, 1, random);
  const LanczosBasis k = lanczos(vector_product_with(a), start, 40);
  ASSERT_EQ(k.basis.cols(), 40);
  EXPECT_LT(distance(k.basis.col(0), start.normalized()), 1e-15);
  EXPECT_LT(distance(dense_transposed_product(k.basis, k.basis), Matrix::Identity(40, 40)), 1e-12);
  const Matrix a_q = dense_product(a, k.basis);
  EXPECT_LT(distance(dense_transposed_product(k.basis, a_q), k.projected), 1e-12 * a.norm());
  // A Q - Q T has its last column alone, and T is tridiagonal.
  EXPECT_LT((a_q - dense_product(k.basis, k.projected)).leftCols(39).norm(), 1e-11 * a.norm());
  for (Index i = 0; i < 40; ++i)
    for (Index j = i + 2; j < 40; ++j) EXPECT_LT(std::abs(k.projected(i, j)), 1e-11 * a.norm());
}

TEST(Lanczos, FindsTheEndsOfTheSpectrum) {
  Random random(14);
  Vector values = Vector::LinSpaced(200, 1.0, 2.0);
  values(0) = -5.0;
  values(199) = 9.0;
  const Matrix a = testing::symmetric_with(values, random);
  const LanczosBasis k = lanczos(vector_product_with(a), normal_matrix(200, 1, random), 25);
  const SymmetricEigen e = symmetric_eigen(k.projected);
  EXPECT_NEAR(e.values(0), -5.0, 1e-10);
  EXPECT_NEAR(e.values(24), 9.0, 1e-10);
  const Matrix u = dense_product(k.basis, e.vectors.col(24));
  EXPECT_LT(distance(dense_product(a, u), 9.0 * u), 1e-5);
}

TEST(Lanczos, GivesGaussQuadratureForFunctionsOfTheMatrix) {
  // v'log(A) v = sum_j log(theta_j) (first component of eigenvector j of T)^2, here against the closed form.
  Random random(15);
  const Vector values = Vector::LinSpaced(60, 0.5, 4.0);
  const Matrix a = values.asDiagonal();
  const Vector v = normal_matrix(60, 1, random).col(0).normalized();
  const SymmetricEigen e = symmetric_eigen(lanczos(vector_product_with(a), v, 30).projected);
  double quadrature = 0.0;
  for (Index j = 0; j < 30; ++j) quadrature += std::log(e.values(j)) * e.vectors(0, j) * e.vectors(0, j);
  double exact = 0.0;
  for (Index j = 0; j < 60; ++j) exact += std::log(values(j)) * v(j) * v(j);
  EXPECT_NEAR(quadrature, exact, 1e-12);
}

TEST(Lanczos, EndsWithTheInvariantSubspaceOrGoesOnFromAFreshVector) {
  Random random(16);
  const Vector values = (Vector(20) << Vector::Constant(8, 2.0), Vector::Constant(12, 5.0)).finished();
  const Matrix a = testing::symmetric_with(values, random);
  const Vector start = normal_matrix(20, 1, random);
  const LanczosBasis ended = lanczos(vector_product_with(a), start, 20);
  EXPECT_EQ(ended.basis.cols(), 2);
  EXPECT_LT(distance(dense_product(a, ended.basis), dense_product(ended.basis, ended.projected)), 1e-12);
  const auto fresh = [&]() -> Vector { return normal_matrix(20, 1, random); };
  const LanczosBasis whole = lanczos(vector_product_with(a), start, 50, fresh);
  ASSERT_EQ(whole.basis.cols(), 20);
  EXPECT_LT(distance(dense_transposed_product(whole.basis, whole.basis), Matrix::Identity(20, 20)), 1e-12);
  EXPECT_LT(distance(symmetric_eigen(whole.projected).values, values), 1e-12);
}

}  // namespace
}  // namespace gaussmith
