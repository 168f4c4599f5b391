// The truth in few dimensions against sums over grids and closed forms of its own.

#include "sampling/few_dimensions.hpp"

#include "numerics/special.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

QuadratureTruth truth_of(const Model& model) {
  const auto space = std::make_shared<const SamplingSpace>(model);
  const auto prior = ReferenceGaussian::prior(space);
  const auto truth = integrate_few_dimensions(model, *prior, 2);
  EXPECT_TRUE(truth.has_value());
  return truth.value_or(QuadratureTruth{});
}

TEST(FewDimensions, OneWeightAgreesWithASum) {
  const Vector x = testing::random_vector(8, 3);
  Vector y(8);
  for (Index i = 0; i < 8; ++i) y(i) = i % 3 == 0 ? 1.0 : -1.0;
  Model model{
      .prior = Isotropic{Vector::Constant(1, 0.3), 9.0}, .design = Matrix(x), .sites = {observe("bernoulli-logit", y)}};
  double z = 0.0;
  double first = 0.0;
  double second = 0.0;
  constexpr double step = 1e-3;
  for (double w = -40.0; w < 40.0; w += step) {
    double p = std::exp(normal_log_density(w, 0.3, 9.0));
    for (Index i = 0; i < 8; ++i) p *= sigmoid(y(i) * x(i) * w);
    z += p * step;
    first += p * w * step;
    second += p * w * w * step;
  }
  const QuadratureTruth truth = truth_of(model);
  EXPECT_NEAR(truth.log_evidence, std::log(z), 1e-8);
  EXPECT_LT(truth.error, 1e-6);
  EXPECT_NEAR(truth.weights.mean(0), first / z, 1e-7);
  EXPECT_NEAR(truth.weights.variance(0), second / z - first * first / (z * z), 1e-6);
}

TEST(FewDimensions, GaussianRowsAreExactInTwoDimensions) {
  const Matrix h = testing::random_matrix(5, 2, 3);
  const Vector y = testing::random_vector(5, 4);
  Model model{.prior = Isotropic{Vector::Zero(2), 4.0},
              .design = h,
              .sites = {observe("gaussian", y, {{"variance", one(0.4)}})}};
  const QuadratureTruth truth = truth_of(model);
  const Matrix precision = h.transpose() * h / 0.4 + Matrix::Identity(2, 2) / 4.0;
  const Vector mean = testing::dense_solve(precision, h.transpose() * y / 0.4);
  const Matrix covariance = testing::dense_inverse(precision);
  for (Index i = 0; i < 2; ++i) {
    EXPECT_NEAR(truth.weights.mean(i), mean(i), 1e-7);
    EXPECT_NEAR(truth.weights.variance(i), covariance(i, i), 1e-7);
  }
}

TEST(FewDimensions, StudentRowsUnderManyWeightsAgreeWithASum) {
  // One Student-t row among Gaussian ones, D = 4 > 3: what the Gaussian rows leave is one-dimensional.
  const Matrix h = testing::random_matrix(7, 4, 3);
  const Vector y = testing::random_vector(7, 4);
  Model model{.prior = Isotropic{Vector::Zero(4), 2.0},
              .design = h,
              .sites = {observe("gaussian", Vector(y.head(6)), {{"variance", one(0.3)}}),
                        observe("student-t", Vector(y.tail(1)), {{"nu", one(2.0)}, {"scale", one(0.1)}})}};
  const QuadratureTruth truth = truth_of(model);
  const Matrix a = testing::dense_inverse(h.topRows(6).transpose() * h.topRows(6) / 0.3 + Matrix::Identity(4, 4) / 2.0);
  const Vector m = a * h.topRows(6).transpose() * y.head(6) / 0.3;
  const Vector last = h.row(6);
  const double mean = last.dot(m);
  const double variance = last.dot(a * last);
  double z = 0.0;
  double first = 0.0;
  for (double f = mean - 14.0 * std::sqrt(variance); f < mean + 14.0 * std::sqrt(variance); f += 2e-5) {
    const double r = (y(6) - f) / 0.1;
    const double t =
        std::exp(std::lgamma(1.5) - std::lgamma(1.0)) / std::sqrt(2.0 * M_PI) / 0.1 * std::pow(1.0 + r * r / 2.0, -1.5);
    const double p = t * std::exp(normal_log_density(f, mean, variance)) * 2e-5;
    z += p;
    first += p * f;
  }
  const Matrix k = 2.0 * h.topRows(6) * h.topRows(6).transpose() + 0.3 * Matrix::Identity(6, 6);
  const Vector head = y.head(6);
  const double gaussian = -0.5 * (head.dot(Vector(testing::dense_solve(k, head))) +
                                  std::log(testing::dense_determinant(k)) + 6.0 * std::log(2.0 * M_PI));
  EXPECT_NEAR(truth.log_evidence, gaussian + std::log(z), 1e-6);
  EXPECT_NEAR(truth.latent.mean(6), first / z, 1e-6);
}

TEST(FewDimensions, SparsityRowsWithoutAGaussianFactor) {
  // Three Laplace rows and one Gaussian: a rotated ridge; the sum over w0 and w1 is one of its own.
  Matrix h(3, 2);
  h << 1.0, 0.0, 0.0, 1.0, 1.0, 2.0;
  Model model{.prior = NoGaussian{2},
              .design = h,
              .sites = {observe("laplace", Vector::Zero(2), {{"scale", one(1.0)}}),
                        observe("gaussian", Vector::Constant(1, 0.7), {{"variance", one(0.05)}})}};
  const auto space = std::make_shared<const SamplingSpace>(model);
  SiteApproximation sites{Vector::Ones(3), Vector::Zero(3)};
  sites.precision(2) = 20.0;
  sites.shift(2) = 14.0;
  const auto around = ReferenceGaussian::make(space, sites);
  ASSERT_TRUE(around.has_value());
  const auto truth = integrate_few_dimensions(model, *around, 1);
  ASSERT_TRUE(truth.has_value());
  // ∫ N(0.7 | a + 2 b, 0.05) e^-|a| e^-|b| / 4: a by steps, b inside in closed form is avoided; both by steps.
  double z = 0.0;
  constexpr double step = 0.01;
  for (double a = -20.0 + step / 2; a < 20.0; a += step)
    for (double b = (0.7 - a) / 2.0 - 1.0; b < (0.7 - a) / 2.0 + 1.0; b += step)
      z += 0.25 * std::exp(-std::abs(a) - std::abs(b) + normal_log_density(0.7, a + 2.0 * b, 0.05)) * step * step;
  EXPECT_NEAR(truth->log_evidence, std::log(z), 2e-4 + truth->error);
  EXPECT_LT(truth->error, 0.02);
}

TEST(FewDimensions, MoreDimensionsAreLeftAlone) {
  const Model model = testing::linear_model("bernoulli-logit", 20, 4, 3);
  const auto prior = ReferenceGaussian::prior(std::make_shared<const SamplingSpace>(model));
  EXPECT_FALSE(integrate_few_dimensions(model, *prior, 1).has_value());
}

}  // namespace
}  // namespace gaussmith
