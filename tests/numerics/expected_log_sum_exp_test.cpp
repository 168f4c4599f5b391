// Expected log-sum-exp against plain sums, plain Monte Carlo, closed limits, and one rule against the other.

#include "numerics/expected_log_sum_exp.hpp"
#include "gaussmith/random.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

struct Found {
  double value = 0.0, error = 0.0;
};
Found expected(const Vector& mean, const Matrix& covariance, const ProbabilityGoal& goal) {
  Found out;
  expected_log_sum_exp(mean.size(), view(mean), {covariance.data(), static_cast<std::size_t>(covariance.size())}, goal,
                       {&out.value, 1}, {&out.error, 1});
  return out;
}

Matrix random_covariance(Index classes, double variance, Random& random) {
  Matrix root(classes, classes);
  for (double& x : root.reshaped()) x = random.normal();
  return variance / static_cast<double>(classes) * root * root.transpose();
}

double log_sum_exp(const Vector& f) { return f.maxCoeff() + std::log((f.array() - f.maxCoeff()).exp().sum()); }

TEST(ExpectedLogSumExp, TwoClassesAreASoftplus) {
  const Vector mean{{0.3, 1.1}};
  for (const double variance : {1e-8, 0.5, 9.0, 1e4}) {
    const Matrix covariance = variance * Matrix{{1.0, 0.2}, {0.2, 0.6}};
    const double sd = std::sqrt(1.2 * variance);
    const double step = std::min(0.05, 0.5 / sd);
    double sum = 0.0;
    for (double z = -9.0; z < 9.0; z += step)
      sum += step * softplus(0.8 + sd * z) * std::exp(-0.5 * z * z - log_sqrt_two_pi);
    const Found found = expected(mean, covariance, {});
    EXPECT_NEAR(found.value, 0.3 + sum, 1e-9 * (1.0 + sd));
    EXPECT_LE(found.error, 1e-9 * (1.0 + sd));
  }
}

TEST(ExpectedLogSumExp, ThreeClassesAreAPlainSum) {
  Random random(61);
  const Vector mean{{0.5, -1.0, 2.0}};
  const Matrix covariance = random_covariance(3, 4.0, random);
  const Matrix root = covariance.llt().matrixL();
  double sum = 0.0, total = 0.0;
  for (int i = -35; i <= 35; ++i)
    for (int j = -35; j <= 35; ++j)
      for (int k = -35; k <= 35; ++k) {
        const Vector z = 0.2 * Vector{{double(i), double(j), double(k)}};
        const double weight = std::exp(-0.5 * z.squaredNorm());
        sum += weight * log_sum_exp(mean + root * z);
        total += weight;
      }
  EXPECT_NEAR(expected(mean, covariance, {}).value, sum / total, 1e-9);
}

TEST(ExpectedLogSumExp, StatedErrorsOfPointsHold) {
  Random random(62);
  for (const double variance : {1e-2, 1.0, 1e2}) {
    int held = 0;
    for (int trial = 0; trial < 100; ++trial) {
      Vector mean(3);
      for (double& m : mean) m = random.normal();
      const Matrix covariance = random_covariance(3, variance, random);
      const Found points = expected(
          mean, covariance,
          {.rule = ProbabilityRule::qmc, .tolerance = 1e-2, .seed = static_cast<std::uint64_t>(trial), .threads = 1});
      held += std::abs(points.value - expected(mean, covariance, {}).value) <= points.error ? 1 : 0;
    }
    EXPECT_GE(held, 95) << variance;
  }
}

TEST(ExpectedLogSumExp, IndependentLatentsAreThoseOfMonteCarlo) {
  Random random(63);
  constexpr Index classes = 8;
  Vector mean(classes), sd(classes);
  for (Index c = 0; c < classes; ++c) {
    mean(c) = 2.0 * random.normal();
    sd(c) = 1.0 + 2.0 * random.uniform();
  }
  constexpr int draws = 100000;
  double sum = 0.0, squares = 0.0;
  for (int draw = 0; draw < draws; ++draw) {
    Vector f = mean;
    for (Index c = 0; c < classes; ++c) f(c) += sd(c) * random.normal();
    const double value = log_sum_exp(f);
    sum += value;
    squares += value * value;
  }
  const double average = sum / draws;
  const double spread = std::sqrt((squares / draws - average * average) / draws);
  const Found found = expected(mean, Matrix(sd.cwiseAbs2().asDiagonal()), {});
  EXPECT_NEAR(found.value, average, 4.0 * spread);
  EXPECT_LE(found.error, 1e-4);
}

/// The mean of the largest of independent normal variables by the distribution of each: what is left of log sum exp
/// where they are far apart, but for terms that fall as 1/sd.
double mean_of_largest(const Vector& mean, const Vector& sd) {
  const double reach = 10.0 * sd.maxCoeff(), step = sd.minCoeff() / 50.0;
  double sum = 0.0;
  for (double x = -reach + 0.5 * step; x < reach; x += step) {
    double below = 1.0;
    for (Index c = 0; c < mean.size(); ++c) below *= 0.5 * std::erfc((mean(c) - x) / sd(c) / std::numbers::sqrt2);
    sum += step * ((x > 0.0 ? 1.0 : 0.0) - below);
  }
  return sum;
}

TEST(ExpectedLogSumExp, WideIndependentLatentsAreTheirLargest) {
  for (const Index classes : {3, 4, 10})
    for (const double spread : {100.0, 1e3, 1e4}) {
      SCOPED_TRACE(testing::Message() << classes << " classes, sd " << spread);
      const Vector mean = Vector::LinSpaced(classes, -0.5, 0.7) * spread;
      const Vector sd = Vector::LinSpaced(classes, 1.0, 1.5) * spread;
      const Found found = expected(mean, Matrix(sd.cwiseAbs2().asDiagonal()), {});
      // Ties of two within one cost at most pi^2/6 times the density of their difference each.
      EXPECT_NEAR(found.value, mean_of_largest(mean, sd), found.error + 1e-5 * spread + 3.0 / spread);
      EXPECT_LE(found.error, 1e-4 * spread);
    }
}

TEST(ExpectedLogSumExp, BothRulesAgreeWhereLatentsAreWide) {
  const Vector mean{{3.0, -20.0, 10.0}};
  const Matrix covariance = Vector{{900.0, 700.0, 1200.0}}.asDiagonal();
  const Found points = expected(mean, covariance, {.rule = ProbabilityRule::qmc});
  const Found nodes = expected(mean, covariance, {});
  EXPECT_NEAR(points.value, nodes.value, points.error + nodes.error);
  EXPECT_LE(points.error, 1e-3);
}

TEST(ExpectedLogSumExp, ACommonShiftIsAdded) {
  Random random(64);
  const Matrix covariance = random_covariance(5, 1.0, random);
  const Vector mean{{0.1, 0.2, -0.3, 0.0, 1.0}};
  const double plain = expected(mean, covariance, {}).value;
  EXPECT_NEAR(expected(mean.array() + 7.0, covariance.array() + 3.0, {}).value, plain + 7.0, 1e-6);
}

}  // namespace
}  // namespace gaussmith
