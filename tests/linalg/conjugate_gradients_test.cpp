#include "linalg/conjugate_gradients.hpp"

#include "linalg/random_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::dense_transposed_product;
using testing::distance;
using testing::normal_matrix;
using End = ConjugateGradientEnd;

LinearMap product_with(const Matrix& a) {
  return [&a](const Matrix& x) -> Matrix { return testing::dense_product(a, x); };
}

TEST(ConjugateGradients, ReachTheToleranceInEveryColumn) {
  Random random(7);
  const Matrix a = testing::symmetric_with(Vector::LinSpaced(80, 0.1, 50.0), random);
  Matrix b = normal_matrix(80, 4, random);
  b.col(2) *= 1e-6;
  b.col(3).setZero();
  const ConjugateGradientResult result = conjugate_gradients(product_with(a), b, {.reduction = 1e-9});
  EXPECT_EQ(result.end, End::converged);
  const Matrix left = b - dense_product(a, result.solution);
  for (Index j = 0; j < b.cols(); ++j) {
    const Vector residual = left.col(j);
    EXPECT_LE(residual.norm(), 1.1e-9 * b.col(j).norm()) << j;
    EXPECT_NEAR(std::sqrt(result.residual_squares(j)), residual.norm(), 1e-10 * b.col(j).norm()) << j;
  }
}

TEST(ConjugateGradients, TakeAsManyStepsAsThereAreEigenvalues) {
  Random random(8);
  const Vector values =
      (Vector(30) << Vector::Constant(10, 1.0), Vector::Constant(10, 3.0), Vector::Constant(10, 7.0)).finished();
  const Matrix a = testing::symmetric_with(values, random);
  const Matrix b = normal_matrix(30, 1, random);
  EXPECT_EQ(conjugate_gradients(product_with(a), b, {.reduction = 1e-10}).iterations, 3);
}

TEST(ConjugateGradients, ThePreconditionerEvensOutScales) {
  Random random(9);
  const Matrix even = testing::symmetric_with(Vector::LinSpaced(40, 1.0, 2.0), random);
  const Vector scale = Vector::LinSpaced(40, -4.0, 4.0).array().exp();
  Matrix a = even;
  for (Index j = 0; j < 40; ++j) a.col(j) = scale(j) * even.col(j).cwiseProduct(scale);
  const Matrix b = normal_matrix(40, 1, random);
  const Vector inverse = a.diagonal().cwiseInverse();
  const LinearMap jacobi = [&](const Matrix& r) -> Matrix { return inverse.cwiseProduct(r.col(0)); };
  const ConjugateGradientResult with = conjugate_gradients(product_with(a), b, {.reduction = 1e-10}, jacobi);
  EXPECT_EQ(with.end, End::converged);
  const Vector residual = b - dense_product(a, with.solution);
  EXPECT_LE(residual.dot(inverse.cwiseProduct(residual)), 1.1e-20 * b.col(0).dot(inverse.cwiseProduct(b.col(0))));
  const ConjugateGradientResult without = conjugate_gradients(product_with(a), b, {.reduction = 1e-10});
  EXPECT_LT(with.iterations, 30);
  EXPECT_GT(without.iterations, 2 * with.iterations);
}

TEST(ConjugateGradients, AStartIsTakenUpAndTheLimitIsKept) {
  Random random(10);
  const Matrix a = testing::symmetric_with(Vector::LinSpaced(60, 0.01, 10.0), random);
  const Matrix b = normal_matrix(60, 2, random);
  const ConjugateGradientResult cut =
      conjugate_gradients(product_with(a), b, {.reduction = 1e-8, .max_iterations = 15});
  EXPECT_EQ(cut.end, End::iteration_limit);
  EXPECT_EQ(cut.iterations, 15);
  const ConjugateGradientResult whole = conjugate_gradients(product_with(a), b, {.reduction = 1e-8});
  const ConjugateGradientResult on = conjugate_gradients(product_with(a), b, {.reduction = 1e-8}, {}, whole.solution);
  EXPECT_EQ(on.end, End::converged);
  EXPECT_LE(on.iterations, 1);
  const Matrix left = b - dense_product(a, on.solution);
  for (Index j = 0; j < 2; ++j) EXPECT_LT(left.col(j).norm(), 1.1e-8 * b.col(j).norm());
}

TEST(ConjugateGradients, TheCallbackFollowsLinearFunctionsOfTheSolution) {
  Random random(11);
  const Matrix h = normal_matrix(70, 20, random);
  const Matrix b = normal_matrix(20, 3, random);
  Matrix hp;
  const LinearMap a = [&](const Matrix& p) -> Matrix {
    hp = dense_product(h, p);
    return dense_transposed_product(h, hp) + p;
  };
  Matrix eta = Matrix::Zero(70, 3);
  const auto follow = [&](const std::vector<Index>& columns, const Vector& lengths) {
    for (std::size_t j = 0; j < columns.size(); ++j)
      eta.col(columns[j]) += lengths(static_cast<Index>(j)) * hp.col(static_cast<Index>(j));
  };
  const ConjugateGradientResult result = conjugate_gradients(a, b, {}, {}, {}, follow);
  EXPECT_EQ(result.end, End::converged);
  EXPECT_LT(distance(eta, dense_product(h, result.solution)), 1e-12 * eta.norm());
}

TEST(ConjugateGradients, SayWhenTheMatrixIsNotPositive) {
  Random random(12);
  const Matrix b = normal_matrix(10, 1, random);
  const Matrix indefinite = testing::symmetric_with(Vector::LinSpaced(10, -1.0, 1.0), random);
  EXPECT_EQ(conjugate_gradients(product_with(indefinite), b).end, End::not_positive);
  const Matrix identity = Matrix::Identity(10, 10);
  const LinearMap negative = [](const Matrix& x) -> Matrix { return -x; };
  EXPECT_EQ(conjugate_gradients(product_with(identity), b, {}, negative).end, End::not_positive);
  Matrix poisoned = b;
  poisoned(3, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(conjugate_gradients(product_with(identity), poisoned).end, End::not_positive);
}

}  // namespace
}  // namespace gaussmith
