#include "linalg/variance_estimators.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/precision_systems.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using testing::chain_rows;
using testing::normal_matrix;
using testing::precision_problems;
using testing::PrecisionProblem;

double relative_error(const Vector& estimate, const Vector& truth) {
  return std::sqrt(((estimate - truth).array() / truth.array()).square().mean());
}

/// Errors and bars of one kind of variances over many seeds.
struct Trials {
  int count = 0;
  int within = 0;
  double errors = 0.0;
  double bars = 0.0;

  void add(double error, double bar) {
    ++count;
    within += error <= bar ? 1 : 0;
    errors += error;
    bars += bar;
  }
  /// 95 % of the bars hold, and bars are not much larger than errors where these are small enough to be of use.
  void expect_honest() const {
    if (count < 40) return;  // Too few to count.
    EXPECT_GE(within, 0.95 * count);
    const double mean = errors / count;
    if (mean < 1e-6 || mean > 0.3) return;
    // 2.5 is the ratio of the 95 % quantile and the mean of |x|, x normal, which is the case where all items err
    // together.
    EXPECT_LT(bars, 3.5 * errors);
  }
};

void expect_honest_bars(const VarianceMethod& method, bool open = false) {
  for (const PrecisionProblem& problem : precision_problems()) {
    SCOPED_TRACE(problem.name);
    const Vector row_truth = problem.row_variances();
    const Vector weight_truth = problem.weight_variances();
    const PrecisionSystem system = open ? problem.open_system() : problem.system();
    Trials rows;
    Trials weights;
    for (int seed = 1; seed <= testing::repetitions(200); ++seed) {
      const VarianceEstimate e = estimate_variances(system, method, {.seed = static_cast<std::uint64_t>(seed)});
      ASSERT_EQ(e.solves, ConjugateGradientEnd::converged);
      ASSERT_GT(e.rows.minCoeff(), 0.0);
      ASSERT_GT(e.weights.minCoeff(), 0.0);
      rows.add(relative_error(e.rows, row_truth), e.rows_error);
      weights.add(relative_error(e.weights, weight_truth), e.weights_error);
    }
    rows.expect_honest();
    weights.expect_honest();
  }
}

TEST(VarianceEstimators, LanczosStatesItsError) { expect_honest_bars(LanczosVariances{.steps = 15, .checks = 12}); }
TEST(VarianceEstimators, ProbesStateTheirError) {
  expect_honest_bars(ProbedVariances{.colours = 4, .rounds = 6, .control_steps = 10});
}
TEST(VarianceEstimators, DrawsStateTheirError) {
  expect_honest_bars(SampledVariances{.draws = 24, .control_steps = 10});
}
TEST(VarianceEstimators, DrawsStateTheirErrorWithoutControl) {
  expect_honest_bars(SampledVariances{.draws = 32, .control_steps = 0});
}

TEST(VarianceEstimators, ConditionedDrawsStateTheirError) {
  expect_honest_bars(SampledVariances{.draws = 32, .control_steps = 0}, true);
}

TEST(VarianceEstimators, ConditioningMakesTheMostOfDraws) {
  // Weights of an orthogonal design are independent: their variances are known, and no row exceeds 1 / tau.
  Random random(3);
  PrecisionProblem problem = precision_problems()[0];
  problem.h = Matrix(60, 40);
  for (Index n = 0; n < 60; ++n)
    for (Index j = 0; j < 40; ++j) problem.h(n, j) = random.uniform() < 0.05 ? 1.0 : 0.0;
  problem.h.topRows(40) += Matrix::Identity(40, 40);
  problem.h.bottomRows(20) += Matrix::Identity(20, 40);
  problem.tau *= 20.0;
  const SampledVariances method{.draws = 16, .control_steps = 0};
  const Vector rows = problem.row_variances();
  const Vector weights = problem.weight_variances();
  double open_rows = 0.0;
  double open_weights = 0.0;
  double plain_rows = 0.0;
  double plain_weights = 0.0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const VarianceEstimate open = estimate_variances(problem.open_system(), method, {.seed = seed});
    const VarianceEstimate plain = estimate_variances(problem.system(), method, {.seed = seed});
    EXPECT_LT(problem.tau.cwiseProduct(open.rows).maxCoeff(), 1.0);
    open_rows += relative_error(open.rows, rows);
    plain_rows += relative_error(plain.rows, rows);
    open_weights += relative_error(open.weights, weights);
    plain_weights += relative_error(plain.weights, weights);
  }
  EXPECT_LT(1.3 * open_rows, plain_rows);
  EXPECT_LT(1.3 * open_weights, plain_weights);
}

TEST(VarianceEstimators, ExactOnesAreThoseOfTheInverse) {
  for (const PrecisionProblem& problem : precision_problems()) {
    SCOPED_TRACE(problem.name);
    const VarianceEstimate e = estimate_variances(problem.system(), ExactVariances{});
    EXPECT_EQ(e.kind, VarianceKind::exact);
    EXPECT_LT(relative_error(e.rows, problem.row_variances()), 1e-8);
    EXPECT_LT(relative_error(e.weights, problem.weight_variances()), 1e-8);
    EXPECT_EQ(e.rows_error, 0.0);
  }
  PrecisionProblem indefinite = precision_problems()[0];
  indefinite.q.setConstant(-100.0);
  const PrecisionSystem system = indefinite.system();
  EXPECT_EQ(estimate_variances(system, ExactVariances{}).solves, ConjugateGradientEnd::not_positive);
}

TEST(VarianceEstimators, LanczosRisesToTheExactOnes) {
  for (const PrecisionProblem& problem : precision_problems()) {
    SCOPED_TRACE(problem.name);
    const PrecisionSystem system = problem.system();
    const Vector rows = problem.row_variances();
    const Vector weights = problem.weight_variances();
    Vector last_rows = Vector::Zero(rows.size());
    Vector last_weights = Vector::Zero(weights.size());
    for (const int steps : {1, 2, 3, 5, 8, 12, 16, 17, 20, 25, 30, 35, 39, 40}) {
      const VarianceEstimate e = estimate_variances(system, LanczosVariances{.steps = steps});
      EXPECT_EQ(e.kind, VarianceKind::from_below);
      EXPECT_GE((e.rows - last_rows).cwiseQuotient(rows).minCoeff(), -1e-12) << steps;
      EXPECT_GE((e.weights - last_weights).cwiseQuotient(weights).minCoeff(), -1e-12) << steps;
      EXPECT_LE(e.rows.cwiseQuotient(rows).maxCoeff(), 1.0 + 1e-7) << steps;
      EXPECT_LE(e.weights.cwiseQuotient(weights).maxCoeff(), 1.0 + 1e-7) << steps;
      last_rows = e.rows;
      last_weights = e.weights;
    }
    EXPECT_LT(relative_error(last_rows, rows), 1e-6);
    EXPECT_LT(relative_error(last_weights, weights), 1e-6);
  }
}

TEST(VarianceEstimators, DrawsAreUnbiased) {
  const PrecisionProblem problem = precision_problems()[3];
  const PrecisionSystem system = problem.system();
  const Vector truth = problem.row_variances();
  Vector sum = Vector::Zero(truth.size());
  const int seeds = testing::repetitions(400);
  for (int seed = 1; seed <= seeds; ++seed)
    sum += estimate_variances(system, SampledVariances{.draws = 8, .control_steps = 5},
                              {.weights = false, .seed = static_cast<std::uint64_t>(seed)})
               .rows;
  // Five standard errors sqrt(2 / draws) of a mean of all draws.
  EXPECT_LT((sum / seeds - truth).cwiseQuotient(truth).cwiseAbs().maxCoeff(), 5.0 * std::sqrt(2.0 / (8.0 * seeds)));
}

TEST(VarianceEstimators, ControlVariatesHelp) {
  const PrecisionProblem problem = precision_problems()[4];
  const PrecisionSystem system = problem.system();
  const Vector truth = problem.row_variances();
  const auto error = [&](const VarianceMethod& method) {
    return relative_error(estimate_variances(system, method, {.weights = false}).rows, truth);
  };
  EXPECT_LT(20.0 * error(SampledVariances{.draws = 24, .control_steps = 10}),
            error(SampledVariances{.draws = 24, .control_steps = 0}));
  EXPECT_LT(20.0 * error(ProbedVariances{.colours = 4, .rounds = 6, .control_steps = 10}),
            error(ProbedVariances{.colours = 4, .rounds = 6, .control_steps = 1}));
}

TEST(VarianceEstimators, ColoursKeepNeighboursApart) {
  // Correlations of this chain fall by a factor of 2.6 a step, of its points and of its differences.
  const Index n = 80;
  const PrecisionProblem problem{"short chain", chain_rows(n), Vector::Ones(2 * n - 1), Vector::Zero(n)};
  const PrecisionSystem system = problem.system();
  const Vector rows = problem.row_variances();
  const Vector weights = problem.weight_variances();
  ProbedVariances apart{.colours = 16, .rounds = 3, .control_steps = 1};
  for (Index i = 0; i < 2 * n - 1; ++i) apart.row_colours.push_back(i < n ? i % 8 : 8 + (i - n) % 8);
  for (Index i = 0; i < n; ++i) apart.weight_colours.push_back(i % 16);
  const VarianceEstimate given = estimate_variances(system, apart);
  const VarianceEstimate random = estimate_variances(system, ProbedVariances{16, 3, 1});
  EXPECT_LT(20.0 * relative_error(given.rows, rows), relative_error(random.rows, rows));
  EXPECT_LT(20.0 * relative_error(given.weights, weights), relative_error(random.weights, weights));
  EXPECT_LT(relative_error(given.rows, rows), given.rows_error);
  EXPECT_LT(relative_error(random.rows, rows), random.rows_error);
}

TEST(VarianceEstimators, BarsOfManyRowsComeFromSomeOfThem) {
  Random random(3);
  const PrecisionProblem problem{"many rows", normal_matrix(3000, 10, random), Vector::Constant(3000, 0.01),
                                 Vector::Ones(10)};
  const Vector truth = problem.row_variances();
  const PrecisionSystem system = problem.system();
  for (const VarianceMethod& method :
       {VarianceMethod(SampledVariances{16, 3}), VarianceMethod(LanczosVariances{5, 32})}) {
    Trials rows;
    for (int seed = 1; seed <= testing::repetitions(40); ++seed) {
      const VarianceEstimate e =
          estimate_variances(system, method, {.weights = false, .seed = static_cast<std::uint64_t>(seed)});
      rows.add(relative_error(e.rows, truth), e.rows_error);
    }
    rows.expect_honest();
  }
}

TEST(VarianceEstimators, SeedsDecideAndWishesAreKept) {
  const PrecisionSystem system = precision_problems()[0].system();
  for (const VarianceMethod& method : {VarianceMethod(LanczosVariances{.steps = 5}), VarianceMethod(ProbedVariances{}),
                                       VarianceMethod(SampledVariances{})}) {
    const VarianceEstimate first = estimate_variances(system, method, {.seed = 3});
    const VarianceEstimate again = estimate_variances(system, method, {.seed = 3});
    EXPECT_EQ(first.rows, again.rows);
    EXPECT_EQ(first.weights, again.weights);
    EXPECT_EQ(first.rows_error, again.rows_error);
    EXPECT_NE(first.rows, estimate_variances(system, method, {.seed = 4}).rows);
    EXPECT_GT(first.products, 0);
    EXPECT_EQ(estimate_variances(system, method, {.rows = false}).rows.size(), 0);
    EXPECT_EQ(estimate_variances(system, method, {.weights = false}).weights.size(), 0);
    EXPECT_EQ(estimate_variances(system, method, {.max_iterations = 1}).solves, ConjugateGradientEnd::iteration_limit);
  }
}

TEST(VarianceEstimators, RowsOfZeros) {
  PrecisionProblem problem = precision_problems()[0];
  problem.h.row(3).setZero();
  const PrecisionSystem system = problem.system();
  for (const VarianceMethod& method : {VarianceMethod(ExactVariances{}), VarianceMethod(LanczosVariances{.steps = 40}),
                                       VarianceMethod(ProbedVariances{}), VarianceMethod(SampledVariances{})}) {
    const VarianceEstimate e = estimate_variances(system, method);
    EXPECT_EQ(e.rows(3), 0.0);
    EXPECT_TRUE(e.rows.allFinite());
    EXPECT_TRUE(std::isfinite(e.rows_error));
  }
}

TEST(VarianceEstimators, WhatCannotBeIsRefused) {
  PrecisionSystem system = precision_problems()[0].system();
  EXPECT_THROW((void)estimate_variances(system, ProbedVariances{.rounds = 2}), InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, ProbedVariances{.colours = 0}), InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, ProbedVariances{.control_steps = 0}), InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, ProbedVariances{.colours = 2, .row_colours = {0, 1}}), InvalidOption);
  EXPECT_THROW(
      (void)estimate_variances(system, ProbedVariances{.colours = 2, .weight_colours = std::vector<Index>(40, 2)}),
      InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, SampledVariances{.draws = 1}), InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, LanczosVariances{.steps = 0}), InvalidOption);
  EXPECT_THROW((void)estimate_variances(system, LanczosVariances{.checks = 1}), InvalidOption);
  system.root_times = {};
  EXPECT_THROW((void)estimate_variances(system, SampledVariances{}), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
