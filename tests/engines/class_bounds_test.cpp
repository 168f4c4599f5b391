// Bounds on the evidence of softmax models against published values, dense algebra and one another.

#include "gaussmith/class_bounds.hpp"
#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>
#include <Eigen/Cholesky>

#include <cmath>

namespace gaussmith {
namespace {

Model softmax_model(Index rows, Index classes, double sd, double lengthscale) {
  Random random(71);
  Matrix x(rows, 2);
  Vector y(rows);
  for (double& value : x.reshaped()) value = random.normal();
  for (Index n = 0; n < rows; ++n) y(n) = static_cast<double>(n % classes);
  return {.prior = GaussianProcess{x, make_kernel("se", {{"signal_sd", {sd}}, {"lengthscale", {lengthscale}}})},
          .sites = {observe("multinomial-logit", y, {{"classes", one(static_cast<double>(classes))}})},
          .latents = {.count = classes}};
}

TEST(ClassBounds, PriorBoundIsThePublishedOne) {
  struct Published {
    Index rows, classes;
    double value;
  };
  for (const Published& p : {Published{90, 3, -125.28}, {129, 3, -179.57}, {106, 3, -147.56}, {128, 7, -300.61}}) {
    // A bound that needs no labels needs no converged posterior either.
    const Posterior q = infer(softmax_model(p.rows, p.classes, 1.0, 1.0), Kl{.covariance = "structured"});
    const ClassBounds found = class_bounds(q, {.tolerance = 1.0});
    ASSERT_TRUE(found.theorem10);
    EXPECT_NEAR(*found.theorem10, p.value, 0.005);
  }
}

TEST(ClassBounds, IsotropicBoundIsTheBestOfAGrid) {
  constexpr Index rows = 12, classes = 3;
  Model model = softmax_model(rows, classes, 1.5, 0.7);
  model.latents = {.count = classes, .model = LatentModel::diagonal, .weight = Vector{{0.5, 1.0, 2.0}}};
  const ClassBounds found = class_bounds(infer(model, Kl{}));
  ASSERT_TRUE(found.theorem9);
  EXPECT_FALSE(found.theorem10);
  const auto& process = std::get<GaussianProcess>(model.prior);
  Matrix gram;
  process.kernel->gram(process.inputs, gram);
  const Matrix kc = model.latents.covariance();
  Matrix k(rows * classes, rows * classes);
  for (Index i = 0; i < rows; ++i)
    for (Index j = 0; j < rows; ++j) k.block(i * classes, j * classes, classes, classes) = gram(i, j) * kc;
  const Eigen::LLT<Matrix> factor(k);
  const double log_determinant = 2.0 * Matrix(factor.matrixL()).diagonal().array().log().sum();
  const double trace = factor.solve(Matrix::Identity(k.rows(), k.rows())).trace();
  double best = -1e300;
  for (double x = -20.0; x < 10.0; x += 1e-3) {
    const double s = std::exp(x), r = std::sqrt(s / 3.0 + 0.25);
    best = std::max(best, 12.0 * (1.5 + 1.5 * x - (2.0 * r - std::log(r + 0.5) - 1.0) - std::log(3.0)) -
                              0.5 * log_determinant - 0.5 * s * trace);
  }
  EXPECT_NEAR(*found.theorem9, best, 1e-4);
  EXPECT_GE(*found.theorem9, best - 1e-9);
}

TEST(ClassBounds, TheyAreInOrder) {
  for (const Index classes : {3, 5}) {
    const Posterior q = infer(softmax_model(20, classes, 2.0, 1.0), Kl{});
    const ClassBounds found = class_bounds(q);
    EXPECT_GE(found.log_zb + found.log_zb_error, q.log_evidence().value);
    EXPECT_LE(found.log_zb_error, classes == 3 ? 1e-7 : 20 * 1e-4);
    EXPECT_LE(*found.theorem10, q.log_evidence().value);
    EXPECT_LE(*found.theorem9, q.log_evidence().value);
    if (classes > 3) continue;
    const Evidence drawn = infer(q.model(), ImportanceSampling{}).log_evidence();
    EXPECT_LE(found.log_zb, drawn.value + 5.0 * *drawn.standard_error);
  }
}

TEST(ClassBounds, NarrowIsotropicGaussiansMayBeatThePrior) {
  // K = 4 I: N(0, s I) at s = 4 is the prior, and another s is better.
  const ClassBounds found = class_bounds(infer(softmax_model(10, 3, 2.0, 1e-3), Kl{}));
  EXPECT_GT(*found.theorem9, *found.theorem10 + 0.1);
  // The best s of one row alone, by a grid; rows are independent.
  double best = -1e300;
  for (double s = 0.01; s < 8.0; s += 1e-3) {
    const double r = std::sqrt(s / 3.0 + 0.25);
    best = std::max(
        best, 1.5 + 1.5 * std::log(s / 4.0) - 1.5 * s / 4.0 - (2.0 * r - std::log(r + 0.5) - 1.0) - std::log(3.0));
  }
  EXPECT_NEAR(*found.theorem9, 10.0 * best, 1e-4);
}

TEST(ClassBounds, TheyAreLeftOutWhereTheyDoNotHold) {
  Model model = softmax_model(8, 3, 1.0, 1.0);
  std::get<GaussianProcess>(model.prior).mean = 0.0;
  model.offset = Vector::Constant(24, 0.5);
  const ClassBounds shifted = class_bounds(infer(model, Kl{}));
  EXPECT_FALSE(shifted.theorem9);
  EXPECT_FALSE(shifted.theorem10);
  EXPECT_THROW(static_cast<void>(class_bounds(infer(model, Laplace{}))), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
