#include "learn/explore.hpp"
#include "gaussmith/learn.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A sine of period 6 with noise at 0, 1, 2, ...: a long length-scale sees noise only.
Model wave() {
  const Index n = 90;
  Matrix inputs(n, 1);
  for (Index i = 0; i < n; ++i) inputs(i, 0) = static_cast<double>(i);
  Vector y = 0.5 * random_vector(n, 7);
  for (Index i = 0; i < n; ++i) y(i) += std::sin(2 * std::numbers::pi * static_cast<double>(i) / 6);
  GaussianProcess process;
  process.inputs = inputs;
  process.kernel = make_kernel("se", {{"lengthscale", {26.0}}});
  return {.prior = process,
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", y, {{"variance", one(0.25)}})}};
}

TEST(Explore, LearningFindsTheShortLengthscaleBehindTheLongOne) {
  const Learned learned = learn(wave(), Exact{});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_LT(learned.posterior.model().parameters()[1].value, 5.0);
  const Learned restarted = learn(wave(), Exact{}, {.restarts = 10});
  EXPECT_GT(learned.report.objective, restarted.report.objective - 1e-6);
}

TEST(Explore, LongStepsBeyondAMaximumAreAlsoLookedAtHalfWay) {
  const std::vector<FreeParameter> free = free_parameters(wave(), {});
  const Index scale = lengthscale_groups(free).at(0).at(0);
  const auto steps = [&](double bend) {
    Curvature curvature{{0, 1, 2}, -Matrix::Identity(3, 3)};
    curvature.hessian(scale, scale) = -bend;
    return steps_beyond(curvature, free);
  };
  // A standard error of 2: two of them are more than the furthest step.
  const std::vector<Vector> flat = steps(0.25);
  ASSERT_EQ(flat.size(), 3u);
  EXPECT_NEAR(flat[0](scale), -3.0, 1e-12);
  EXPECT_NEAR(flat[1](scale), 3.0, 1e-12);
  EXPECT_NEAR(flat[2](scale), -1.5, 1e-12);
  const std::vector<Vector> sharp = steps(100.0);
  ASSERT_EQ(sharp.size(), 2u);
  EXPECT_NEAR(sharp[0](scale), -1.2, 1e-12);
}

TEST(Explore, WithoutLengthscalesStepsGoAlongWhatIsOpen) {
  const std::vector<FreeParameter> free = free_parameters(linear_model("gaussian", 12, 3, 4), {});
  ASSERT_EQ(free.size(), 2u);
  // Standard errors of 0.5 and 2.
  const std::vector<Vector> steps = steps_beyond({{0, 1}, Matrix{{-4.0, 0.0}, {0.0, -0.25}}}, free);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], (Vector{{0.0, -2.0}}));
  EXPECT_EQ(steps[1], (Vector{{0.0, 2.0}}));
  EXPECT_TRUE(steps_beyond({{0, 1}, Matrix{{-4.0, 0.0}, {0.0, -2.0}}}, free).empty());
}

/// A smooth function of one input with noise.
Model many_rows(Index n) {
  Matrix inputs(n, 1);
  Vector y = 0.3 * random_vector(n, 5);
  for (Index i = 0; i < n; ++i) {
    inputs(i, 0) = 0.02 * static_cast<double>(i);
    y(i) += std::sin(inputs(i, 0)) + 0.5 * std::sin(3.1 * inputs(i, 0));
  }
  GaussianProcess process;
  process.inputs = inputs;
  process.kernel = make_kernel("se", {{"lengthscale", {3.0}}});
  return {.prior = process,
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", y, {{"variance", one(0.25)}})}};
}

TEST(Explore, PartsOfManyRowsLeadToTheMaximumOfAllOfThem) {
  const Model model = many_rows(420);
  const Learned learned = learn(model, Exact{});
  ASSERT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_EQ(learned.report.part_rows, 210);
  // Restarts use all rows from their first evaluation on.
  const Learned restarted = learn(model, Exact{}, {.restarts = 2, .restart_spread = 0.3});
  EXPECT_NEAR(learned.report.objective, restarted.report.objective, 2e-6);
  for (const LearnedParameter& p : learned.report.parameters) {
    if (p.fixed) continue;
    ASSERT_TRUE(p.standard_error);
    for (const LearnedParameter& q : restarted.report.parameters)
      if (q.name == p.name) {
        EXPECT_NEAR(std::log(p.value), std::log(q.value), 2e-3 * *p.standard_error) << p.name;
      }
  }
}

TEST(Explore, PartsOfManyRowsKeepTheBudgetOfOneSearchEach) {
  const LearnReport report = learn(many_rows(420), Exact{}, {.max_evaluations = 4}).report;
  EXPECT_LE(report.evaluations, 4);
  EXPECT_LE(report.part_evaluations, 8);  // Its own start, and one more where that ends at a bound.
  EXPECT_GT(report.part_evaluations, 0);
}

TEST(Explore, TiedCoordinatesMoveAsOneAndGatherTheirGradients) {
  const Model model = process_model("poisson", 8, 2);
  const std::vector<FreeParameter> free = free_parameters(model, {});
  const auto groups = lengthscale_groups(free);
  ASSERT_EQ(groups.size(), 1u);
  ASSERT_EQ(groups[0].size(), 2u);
  const Vector start = collect(free, &FreeParameter::initial);
  const TiedCoordinates tied(free, start);
  ASSERT_TRUE(tied.fewer());
  const auto f = [](const Vector& x) {
    return Evaluation{x.array().sin().sum() + x(0) * x(1) * x(2),
                      Vector(x.array().cos().matrix() + Vector{{x(1) * x(2), x(0) * x(2), x(0) * x(1)}})};
  };
  Vector z = Vector::Constant(tied.lower().size(), 0.1);
  const Evaluation here = tied.gather(f(tied.point(z)));
  for (Index i = 0; i < z.size(); ++i) {
    Vector up = z, down = z;
    up(i) += 1e-5;
    down(i) -= 1e-5;
    EXPECT_NEAR(here.gradient(i), (f(tied.point(up)).value - f(tied.point(down)).value) / 2e-5, 1e-8);
  }
  for (const Index i : groups[0]) EXPECT_NEAR(tied.point(z)(i) - start(i), 0.1, 1e-15);
}

}  // namespace
}  // namespace gaussmith
