#include "learn/curvature.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

/// f = -cosh(x + 2y) - 3 exp(y) + x y z - z^2 and its gradient.
std::optional<Evaluation> wavy(const Vector& at) {
  const double x = at(0), y = at(1), z = at(2);
  Vector gradient(3);
  gradient << -std::sinh(x + 2 * y) + y * z, -2 * std::sinh(x + 2 * y) - 3 * std::exp(y) + x * z, x * y - 2 * z;
  return Evaluation{-std::cosh(x + 2 * y) - 3 * std::exp(y) + x * y * z - z * z, gradient};
}

/// Its second derivatives, by hand.
Matrix hessian_of_wavy(const Vector& at) {
  const double x = at(0), y = at(1), z = at(2), c = std::cosh(x + 2 * y);
  Matrix hessian(3, 3);
  hessian << -c, -2 * c + z, y, -2 * c + z, -4 * c - 3 * std::exp(y), x, y, x, -2;
  return hessian;
}

const Vector far = Vector::Constant(3, 100.0);

TEST(Curvature, CentralDifferencesAreOfSecondOrderAndOneSidedOnesOfFirst) {
  const Vector at = Vector{{0.3, -0.2, 0.7}};
  const Matrix truth = hessian_of_wavy(at);
  const auto error = [&](double step, bool central) {
    const auto found = curvature(wavy, at, wavy(at)->gradient, {0, 1, 2}, -far, far, {step, central});
    return (found->hessian - truth).lpNorm<Eigen::Infinity>();
  };
  EXPECT_LT(error(0.02, true), 2e-3);
  EXPECT_NEAR(error(0.04, true) / error(0.02, true), 4.0, 0.1);
  EXPECT_NEAR(error(0.004, false) / error(0.002, false), 2.0, 0.1);
}

TEST(Curvature, KeepsToTheBoxToItsCoordinatesAndAwayFromFailures) {
  const Vector at = Vector{{0.3, -0.2, 0.7}};
  int calls = 0;
  const auto f = [&](const Vector& x) -> std::optional<Evaluation> {
    ++calls;
    EXPECT_LE(x(0), at(0));
    EXPECT_EQ(x(1), at(1));
    if (x(2) < at(2)) return std::nullopt;
    return wavy(x);
  };
  Vector upper = far;
  upper(0) = at(0);
  const auto found = curvature(f, at, wavy(at)->gradient, {2, 0}, -far, upper, {1e-4, true});
  ASSERT_TRUE(found);
  EXPECT_EQ(calls, 3);
  const Matrix truth = hessian_of_wavy(at);
  EXPECT_NEAR(found->hessian(0, 0), truth(2, 2), 1e-3);
  EXPECT_NEAR(found->hessian(1, 1), truth(0, 0), 1e-3);
  EXPECT_NEAR(found->hessian(1, 0), truth(0, 2), 1e-3);
  EXPECT_EQ(found->hessian(1, 0), found->hessian(0, 1));
  const auto none = [](const Vector&) -> std::optional<Evaluation> { return std::nullopt; };
  EXPECT_FALSE(curvature(none, at, wavy(at)->gradient, {1}, -far, far));
}

TEST(Curvature, CovarianceAtAMaximumInvertsItAndIsEmptyAtASaddle) {
  Matrix hessian(2, 2);
  hessian << -4, 1, 1, -2;
  const auto covariance = covariance_at_maximum(hessian);
  ASSERT_TRUE(covariance);
  EXPECT_NEAR((*covariance)(0, 0), 2.0 / 7, 1e-14);
  EXPECT_NEAR((*covariance)(0, 1), 1.0 / 7, 1e-14);
  EXPECT_NEAR((*covariance)(1, 1), 4.0 / 7, 1e-14);
  EXPECT_FALSE(covariance_at_maximum(hessian, 2.0));
  hessian(1, 1) = 1;
  EXPECT_FALSE(covariance_at_maximum(hessian));
}

}  // namespace
}  // namespace gaussmith
