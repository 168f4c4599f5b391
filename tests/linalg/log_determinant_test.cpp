#include "linalg/log_determinant.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/precision_systems.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gaussmith {
namespace {

using testing::dense_product;
using testing::precision_problems;
using testing::PrecisionProblem;
using testing::symmetric_eigenvalues;

double exact_log_determinant(const Matrix& a) {
  // Of the scaled matrix, so that units do not cost digits.
  const Vector scale = a.diagonal().cwiseSqrt().cwiseInverse();
  return symmetric_eigenvalues(scale.asDiagonal() * a * scale.asDiagonal()).array().log().sum() +
         a.diagonal().array().log().sum();
}

LinearMap products_with(const Matrix& a) {
  return [&a](const Matrix& x) { return dense_product(a, x); };
}

/// Of 200 seeds, 95 % lie within 2.5 standard errors, and these are what errors are on average.
void expect_honest(const PrecisionProblem& problem, const LogDeterminantOptions& wanted) {
  SCOPED_TRACE(problem.name);
  const Matrix a = problem.precision();
  const double truth = exact_log_determinant(a);
  const int seeds = testing::repetitions(200);
  int within = 0;
  double errors = 0.0;
  double squares = 0.0;
  LogDeterminantOptions options = wanted;
  for (int seed = 1; seed <= seeds; ++seed) {
    options.seed = static_cast<std::uint64_t>(seed);
    const LogDeterminantEstimate e = log_determinant(products_with(a), a.diagonal(), options);
    ASSERT_TRUE(e.settled && e.positive);
    const double error = e.value - truth;
    within += std::abs(error) <= 2.5 * e.standard_error + options.tolerance * 40 ? 1 : 0;
    errors += error * error;
    squares += e.standard_error * e.standard_error;
  }
  if (seeds < 200) return;  // Too few to count.
  EXPECT_GE(within, 190);
  EXPECT_LT(squares, 1.5 * errors + 1e-8);
}

TEST(LogDeterminant, LiesWithinItsStandardErrors) {
  for (const PrecisionProblem& problem : precision_problems())
    expect_honest(problem, {.probes = 16, .exact_diagonal = true});
}

TEST(LogDeterminant, LiesWithinItsStandardErrorsWithoutControls) {
  for (const std::size_t which : {0, 5})
    expect_honest(precision_problems()[which], {.probes = 16, .deflation_steps = 0});
}

TEST(LogDeterminant, QuadratureFallsToItsValueFromAbove) {
  // The same probes, more steps.
  const Matrix a = precision_problems()[5].precision();
  double last = std::numeric_limits<double>::infinity();
  for (const int steps : {1, 2, 4, 8, 12, 16, 24, 40}) {
    const LogDeterminantEstimate e = log_determinant(
        products_with(a), a.diagonal(), {.probes = 4, .max_steps = steps, .tolerance = 0.0, .deflation_steps = 0});
    EXPECT_LE(e.value, last + 1e-9) << steps;
    if (steps <= 8 || steps == 40) {
      EXPECT_EQ(e.settled, steps == 40) << steps;
    }
    last = e.value;
  }
}

TEST(LogDeterminant, IsExactForADiagonalAndWhereAllEigenvaluesAreFound) {
  const Vector d = Vector::LinSpaced(30, 1e-3, 5.0);
  const LogDeterminantEstimate diagonal =
      log_determinant([&](const Matrix& x) -> Matrix { return d.asDiagonal() * x; }, d);
  EXPECT_NEAR(diagonal.value, d.array().log().sum(), 1e-10);
  EXPECT_LT(diagonal.standard_error, 1e-10);
  const Matrix a = precision_problems()[0].precision();
  const LogDeterminantEstimate whole = log_determinant(products_with(a), a.diagonal(), {.deflation_steps = 40});
  EXPECT_NEAR(whole.value, exact_log_determinant(a), 1e-8);
  EXPECT_EQ(log_determinant(products_with(Matrix(0, 0)), Vector()).value, 0.0);
}

TEST(LogDeterminant, TheDiagonalNeedNotBeThatOfTheMatrix) {
  const Matrix a = precision_problems()[0].precision();
  const LogDeterminantEstimate e = log_determinant(products_with(a), Vector::Constant(40, 3.0), {.probes = 200});
  EXPECT_NEAR(e.value, exact_log_determinant(a), 3.0 * e.standard_error);
}

TEST(LogDeterminant, SaysWhenTheMatrixIsNotPositive) {
  const Matrix a = -Matrix::Identity(10, 10);
  EXPECT_FALSE(log_determinant(products_with(a), Vector::Ones(10)).positive);
  EXPECT_THROW((void)log_determinant(products_with(a), Vector::Ones(10), {.probes = 2}), InvalidOption);
  EXPECT_THROW((void)log_determinant(products_with(a), Vector::Ones(10), {.max_steps = 0}), InvalidOption);
}

TEST(LogDeterminant, SeedsDecide) {
  const Matrix a = precision_problems()[0].precision();
  const auto value = [&](std::uint64_t seed) {
    return log_determinant(products_with(a), a.diagonal(), {.seed = seed}).value;
  };
  EXPECT_EQ(value(1), value(1));
  EXPECT_NE(value(1), value(2));
}

}  // namespace
}  // namespace gaussmith
