// The averaged log-sum-exp and its derivatives against plain sums, differences and the rule that knows its error.

#include "numerics/averaged_log_sum_exp.hpp"
#include "gaussmith/random.hpp"
#include "numerics/expected_log_sum_exp.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

namespace gaussmith {
namespace {

Matrix random_covariance(Index classes, double variance, Random& random) {
  Matrix root(classes, classes);
  for (double& x : root.reshaped()) x = random.normal();
  return variance / static_cast<double>(classes) * root * root.transpose();
}

struct Averaged {
  double value = 0.0;
  Vector probability, replicates = Vector(AveragedLogSumExp::shifts);
  Matrix curvature;
};
Averaged averaged(const Vector& mean, const Matrix& covariance, std::uint64_t seed = 0) {
  const Index c = mean.size();
  Averaged out{.probability = Vector(c), .curvature = Matrix(c, c)};
  out.value = AveragedLogSumExp(c, seed).average(
      view(mean), {covariance.data(), static_cast<std::size_t>(c * c)},
      {view(out.probability), {out.curvature.data(), static_cast<std::size_t>(c * c)}, view(out.replicates)});
  return out;
}

TEST(AveragedLogSumExp, FewClassesAreExactWithTheirDerivatives) {
  Random random(31);
  for (const Index classes : {2, 3})
    for (const double variance : {0.01, 1.0, 30.0}) {
      Vector mean(classes);
      for (double& m : mean) m = random.normal();
      const Matrix v = random_covariance(classes, variance, random);
      const Averaged found = averaged(mean, v);
      double exact = 0.0, error = 0.0;
      expected_log_sum_exp(classes, view(mean), {v.data(), static_cast<std::size_t>(v.size())}, {}, {&exact, 1},
                           {&error, 1});
      EXPECT_NEAR(found.value, exact, 1e-9);
      EXPECT_EQ(found.replicates.maxCoeff(), found.replicates.minCoeff());
      constexpr double h = 1e-4;
      for (Index c = 0; c < classes; ++c) {
        const Vector step = h * Vector::Unit(classes, c);
        EXPECT_NEAR(found.probability(c), (averaged(mean + step, v).value - averaged(mean - step, v).value) / (2.0 * h),
                    1e-6);
      }
      // Along a covariance of rank one: d/dV E = T/2.
      Vector along(classes);
      for (double& a : along) a = random.normal();
      const Matrix change = 1e-4 * variance * along * along.transpose();
      const Matrix wide = v + change;  // V - change need not be a covariance.
      EXPECT_NEAR(0.5 * averaged(mean, wide).curvature.cwiseProduct(change).sum(),
                  0.5 * (averaged(mean, wide + change).value - averaged(mean, v).value), 1e-7 * (1.0 + variance));
      EXPECT_LE(found.curvature.rowwise().sum().cwiseAbs().maxCoeff(), 1e-15);
    }
}

TEST(AveragedLogSumExp, ManyClassesAreGoodToTheSpreadOfTheirReplicates) {
  Random random(32);
  for (const Index classes : {4, 10}) {
    int held = 0;
    for (int trial = 0; trial < 10; ++trial) {
      Vector mean(classes);
      for (double& m : mean) m = random.normal();
      const Matrix v = random_covariance(classes, 4.0, random);
      const Averaged found = averaged(mean, v, static_cast<std::uint64_t>(trial));
      const Vector& each = found.replicates;
      EXPECT_NEAR(each.mean(), found.value, 1e-12);
      const double se = std::sqrt((each.array() - each.mean()).square().sum() / 56.0);
      EXPECT_LT(se, 1e-2);
      double other = 0.0, error = 0.0;
      expected_log_sum_exp(classes, view(mean), {v.data(), static_cast<std::size_t>(v.size())},
                           {.tolerance = 2e-3, .seed = 7}, {&other, 1}, {&error, 1});
      held += std::abs(found.value - other) <= 2.5 * se + error ? 1 : 0;
      EXPECT_NEAR(found.probability.sum(), 1.0, 1e-12);
    }
    EXPECT_GE(held, 9) << classes;
  }
}

TEST(AveragedLogSumExp, SingularCovariancesAndASmoothRule) {
  // One direction of five classes: an integral over one variable.
  const Vector mean{{0.3, -0.2, 0.9, 0.0, 1.1}};
  const Vector a{{1.0, -2.0, 0.5, 0.0, 1.5}};
  double exact = 0.0;
  constexpr double step = 0.05;
  for (double z = -9.0; z < 9.0; z += step) {
    const Vector f = mean + z * a;
    exact += step * std::exp(-0.5 * z * z) / std::sqrt(2.0 * 3.14159265358979) * std::log(f.array().exp().sum());
  }
  EXPECT_NEAR(averaged(mean, a * a.transpose()).value, exact, 1e-3);
  // No variance at all.
  EXPECT_NEAR(averaged(mean, Matrix::Zero(5, 5)).value, std::log(mean.array().exp().sum()), 1e-13);
  // A tiny change of the covariance makes a tiny change of the value: the points stay where they are.
  Random random(33);
  const Matrix v = random_covariance(5, 4.0, random);
  EXPECT_NEAR(averaged(mean, v).value, averaged(mean, 1.0000001 * v).value, 1e-6);
}

}  // namespace
}  // namespace gaussmith
