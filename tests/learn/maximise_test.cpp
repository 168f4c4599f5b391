#include "learn/maximise.hpp"
#include "learn/quadratic_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace gaussmith {
namespace {

const Vector far = Vector::Constant(2, 30.0);
bool never() { return false; }

/// Rosenbrock's valley, upside down: the maximum 0 at (1, 1).
std::optional<Evaluation> valley(const Vector& at) {
  const double x = at(0), y = at(1);
  Vector gradient(2);
  gradient << 400 * x * (y - x * x) + 2 * (1 - x), -200 * (y - x * x);
  return Evaluation{-100 * std::pow(y - x * x, 2) - std::pow(1 - x, 2), std::move(gradient)};
}

TEST(Maximise, FollowsACurvedValleyAndFindsItsCurvature) {
  const Maximum found = maximise(valley, never, Vector{{-1.2, 1.0}}, -far, far, {.tolerance = 1e-6});
  EXPECT_EQ(found.status, Status::converged) << found.message;
  EXPECT_LE(found.evaluations, 80);
  EXPECT_NEAR(found.point(0), 1.0, 1e-6);
  EXPECT_NEAR(found.point(1), 1.0, 1e-6);
  ASSERT_TRUE(found.curvature);
  EXPECT_NEAR(found.curvature->hessian(0, 0), -802.0, 8.0);
  EXPECT_NEAR(found.curvature->hessian(1, 0), 400.0, 4.0);
  EXPECT_NEAR(found.curvature->hessian(1, 1), -200.0, 2.0);
}

TEST(Maximise, EndsWithinAShareOfAStandardErrorWhereThatIsEnough) {
  // f = -50 (x - 1)^2 - (x - 1)^4 - 8 y^2: standard errors 0.1 and 0.25 at the maximum (1, 0).
  int evaluations = 0;
  const PartialFunction f = [&](const Vector& x) -> std::optional<Evaluation> {
    ++evaluations;
    const double d = x(0) - 1.0;
    return Evaluation{-50 * d * d - std::pow(d, 4) - 8 * x(1) * x(1),
                      Vector{{-100 * d - 4 * std::pow(d, 3), -16 * x(1)}}};
  };
  const Vector box = Vector::Constant(2, 5.0);
  const Vector start{{0.3, 0.8}};
  const auto run = [&](double near_enough) {
    evaluations = 0;
    return maximise(f, [] { return false; }, start, -box, box, {.tolerance = 1e-12, .near_enough = near_enough});
  };
  const Maximum exact = run(0.0);
  const int all = evaluations;
  const Maximum enough = run(1e-2);
  EXPECT_EQ(enough.status, Status::converged);
  EXPECT_LT(evaluations, all);
  EXPECT_LT(std::abs(enough.point(0) - 1.0) / 0.1, 1e-2);
  EXPECT_LT(std::abs(enough.point(1)) / 0.25, 1e-2);
  EXPECT_NEAR(exact.point(0), 1.0, 1e-6);
}

TEST(Maximise, KeepsItsBudgetExactly) {
  for (const int budget : {1, 2, 3, 7, 20, 25}) {
    int calls = 0;
    const auto f = [&](const Vector& at) {
      ++calls;
      return valley(at);
    };
    const Maximum found = maximise(f, never, Vector{{-1.2, 1.0}}, -far, far, {.max_evaluations = budget});
    EXPECT_EQ(calls, budget);
    EXPECT_EQ(found.evaluations, budget);
    EXPECT_EQ(found.status, Status::iteration_limit);
  }
}

TEST(Maximise, EndsWhereErrorsHideTheRest) {
  // Values rounded to 1e-3: the search must not go on for steps that they cannot show, nor call that a failure.
  const auto f = [](const Vector& at) -> std::optional<Evaluation> {
    auto exact = valley(at);
    exact->value = 1e-3 * std::round(1e3 * exact->value);
    exact->gradient(0) += 0.01 * std::sin(1e4 * at(0));
    exact->value_error = 1e-3;
    exact->gradient_error = 0.01;
    return exact;
  };
  const Maximum found = maximise(f, never, Vector{{-1.2, 1.0}}, -far, far, {});
  EXPECT_EQ(found.status, Status::converged) << found.message;
  EXPECT_LE(found.evaluations, 80);
  EXPECT_GT(found.value, -0.01);
}

TEST(Maximise, SaysThatNothingHelpsWhereTheGradientIsWrong) {
  const auto f = [](const Vector& at) -> std::optional<Evaluation> {
    return Evaluation{-at.squaredNorm(), Vector(2.0 * at + Vector::Ones(2))};
  };
  const Maximum found = maximise(f, never, Vector{{1.0, 1.0}}, -far, far, {});
  EXPECT_EQ(found.status, Status::stalled) << found.message;
}

TEST(QuadraticModel, BestStepMeetsTheConditionsOfAMaximumInTheBox) {
  // Curvatures of both signs; to first order nothing inside the box rises from the step.
  Matrix hessian(4, 4);
  hessian << -3, 1, 0.5, 0, 1, 2, 0, -1, 0.5, 0, -1, 0.3, 0, -1, 0.3, -4;
  QuadraticModel model(4);
  model.set(hessian, {0, 1, 2, 3}, 1.0);
  EXPECT_LT((model.times(Vector::Unit(4, 1)) - hessian.col(1)).norm(), 1e-13);
  const Vector lower = Vector{{-1, -0.5, 0, -2}};
  const Vector upper = Vector{{0.2, 1, 3, 2}};
  for (const Vector& gradient : {Vector{{1, 0.1, -1, 2}}, Vector{{-1, -0.3, 2, 0.1}}, Vector{{0.01, 0, 3, -9}}}) {
    const Vector step = model.best_step(gradient, lower, upper);
    const Vector slope = gradient + hessian * step;
    EXPECT_GT(model.gain(gradient, step), 0.0);
    for (Index i = 0; i < 4; ++i) {
      EXPECT_GE(step(i), lower(i));
      EXPECT_LE(step(i), upper(i));
      if (step(i) < upper(i)) {
        EXPECT_LT(slope(i), 1e-8);
      }
      if (step(i) > lower(i)) {
        EXPECT_GT(slope(i), -1e-8);
      }
    }
  }
}

TEST(QuadraticModel, LearnsAHessianFromItsProducts) {
  Matrix hessian(3, 3);
  hessian << -3, 1, 0.5, 1, 2, 0.1, 0.5, 0.1, -1;
  QuadraticModel model(3);
  model.reset(0.7);
  for (const Vector& step : {Vector{{1, 0, 0.2}}, Vector{{0.3, 1, 0}}, Vector{{0, 0.1, 1}}})
    model.update(step, hessian * step);
  for (Index i = 0; i < 3; ++i) EXPECT_LT((model.times(Vector::Unit(3, i)) - hessian.col(i)).norm(), 1e-12);
}

}  // namespace
}  // namespace gaussmith
