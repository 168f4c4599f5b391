#include "learn/candidate_starts.hpp"
#include "gaussmith/kernel_expression.hpp"
#include "gaussmith/learn.hpp"
#include "learn/race.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <set>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A slow and a fast wave with noise at 0, 1, 2, ... under a kernel with all parameters at their defaults.
Model two_waves(const char* kernel, Index n = 100) {
  Matrix inputs(n, 1);
  Vector y = 0.3 * random_vector(n, 7);
  for (Index i = 0; i < n; ++i) {
    const auto t = static_cast<double>(i);
    inputs(i, 0) = t;
    y(i) += 3.0 * std::sin(t / 25.0) + std::sin(2 * std::numbers::pi * t / 7.3);
  }
  GaussianProcess process;
  process.inputs = inputs;
  KernelExpression expression = parse_kernel(kernel);
  process.kernel = expression.build(1);
  return {.prior = process,
          .design = Identity{},
          .offset = {},
          .sites = {observe("gaussian", y, {{"variance", one(0.25)}})}};
}

TEST(CandidateStarts, AreForSeveralComponentsAlone) {
  const auto free = [](const char* kernel) { return free_parameters(two_waves(kernel), {}); };
  EXPECT_FALSE(has_components(free("se")));
  EXPECT_FALSE(has_components(free("rq+linear")));
  EXPECT_FALSE(has_components(free_parameters(process_model("poisson", 8, 2), {})));
  EXPECT_TRUE(has_components(free("se+matern32")));
  EXPECT_TRUE(has_components(free("periodic")));
  EXPECT_TRUE(has_components(free_parameters(two_waves("se*periodic"), {.fixed = {"kernel.terms[1].period"}})));
}

TEST(CandidateStarts, HoldEveryPairOfLevelsOfEveryTwoKernels) {
  const std::vector<FreeParameter> free = free_parameters(two_waves("se+matern32+rq+matern52"), {});
  const Vector start = collect(free, &FreeParameter::initial);
  const std::vector<Vector> starts = candidate_starts(free, start, {});
  ASSERT_EQ(starts.size(), 10u);
  EXPECT_EQ(starts[0], start);
  const auto groups = lengthscale_groups(free);
  for (std::size_t a = 0; a < groups.size(); ++a)
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      std::set<std::pair<double, double>> seen;
      for (std::size_t k = 1; k < starts.size(); ++k) seen.emplace(starts[k](groups[a][0]), starts[k](groups[b][0]));
      EXPECT_EQ(seen.size(), 9u) << a << " " << b;
    }
}

TEST(CandidateStarts, StayInsideBoundsAndTakeEveryPeriod) {
  const std::vector<FreeParameter> free =
      free_parameters(two_waves("periodic"), {.bounds = {{"kernel.lengthscale", {0.5, 2.0}}}});
  const std::vector<Vector> starts = candidate_starts(free, collect(free, &FreeParameter::initial), {5.0, 11.0});
  const Index period = places_of_periods(free).at(0);
  std::set<double> periods;
  for (std::size_t k = 1; k < starts.size(); ++k) periods.insert(starts[k](period));
  EXPECT_EQ(periods, (std::set<double>{std::log(5.0), std::log(11.0)}));
  for (const Vector& point : starts)
    for (std::size_t i = 0; i < free.size(); ++i) {
      EXPECT_GE(point(static_cast<Index>(i)), free[i].lower);
      EXPECT_LE(point(static_cast<Index>(i)), free[i].upper);
    }
}

TEST(Race, KeepsTheHighestHillsWithinItsBudget) {
  // Three hills along a line, their tops 1, 3 and 2.
  int evaluations = 0;
  const PartialFunction f = [&](const Vector& x) -> std::optional<Evaluation> {
    ++evaluations;
    Evaluation out{0.0, Vector::Zero(2)};
    const double centres[] = {-6.0, 0.0, 6.0};
    const double tops[] = {1.0, 3.0, 2.0};
    for (int k = 0; k < 3; ++k) {
      const Vector d{{x(0) - centres[k], x(1)}};
      const double hill = tops[k] * std::exp(-0.2 * d.squaredNorm());
      out.value += hill;
      out.gradient -= 0.4 * hill * d;
    }
    return out;
  };
  std::vector<Vector> starts;
  for (const double place : {-7.0, -5.0, 1.2, 5.0, 7.0}) starts.push_back(Vector{{place, 1.0}});
  const Vector box = Vector::Constant(2, 10.0);
  const auto found = race(f, [] { return false; }, starts, -box, box, {.finalists = 2, .max_evaluations = 100});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].point(0), 0.0, 0.1);
  EXPECT_NEAR(found[1].point(0), 6.0, 0.1);
  EXPECT_LE(evaluations, 100);
  evaluations = 0;
  (void)race(f, [] { return false; }, starts, -box, box, {.max_evaluations = 17});
  EXPECT_LE(evaluations, 17);
}

TEST(Learn, SumsAndProductsFromEqualStartsEndNoLowerThanTenRestarts) {
  // Equal components have equal gradients: an ascent from there never tells them apart.
  for (const char* kernel : {"se+se", "se+se*periodic", "periodic+se"}) {
    const Model model = two_waves(kernel);
    const Learned learned = learn(model, Exact{});
    EXPECT_EQ(learned.report.status, Status::converged) << kernel << ": " << learned.report.message;
    const Learned restarted = learn(model, Exact{}, {.restarts = 10});
    EXPECT_GT(learned.report.objective, restarted.report.objective - 0.01) << kernel;
  }
}

TEST(Learn, ManyRowsCompareTheirStartsOverAPart) {
  const Learned learned = learn(two_waves("se+se", 340), Exact{});
  EXPECT_EQ(learned.report.status, Status::converged) << learned.report.message;
  EXPECT_EQ(learned.report.part_rows, 300);
  EXPECT_GT(learned.report.part_evaluations, 10);
  std::vector<double> scales;
  for (const LearnedParameter& p : learned.report.parameters)
    if (p.name.ends_with("lengthscale")) scales.push_back(p.value);
  ASSERT_EQ(scales.size(), 2u);
  EXPECT_GT(std::max(scales[0], scales[1]), 4.0 * std::min(scales[0], scales[1]));
}

}  // namespace
}  // namespace gaussmith
