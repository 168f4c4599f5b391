#include "numerics/quadrature.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace gaussmith {
namespace {

using One = std::array<double, 1>;

TEST(Quadrature, PolynomialsOfDegree22AreExactOnOnePanel) {
  const std::vector<double> ends = {-1.0, 2.0};
  const auto result = integrate<2>(
      [](double x) {
        return std::array<double, 2>{std::pow(x, 22), std::pow(x, 21)};
      },
      ends);
  EXPECT_NEAR(result.value[0] / ((std::pow(2.0, 23) + 1.0) / 23.0), 1.0, 1e-14);
  EXPECT_NEAR(result.value[1] / ((std::pow(2.0, 22) - 1.0) / 22.0), 1.0, 1e-14);
  EXPECT_TRUE(result.converged);
}

TEST(Quadrature, FindsAnUnknownJumpAndKink) {
  const std::vector<double> ends = {0.0, 1.0};
  const double jump = 1.0 / std::numbers::pi;
  const auto stepped = integrate<1>([&](double x) { return One{x < jump ? 0.0 : std::exp(x)}; }, ends);
  EXPECT_NEAR(stepped.value[0], std::exp(1.0) - std::exp(jump), 1e-11);
  EXPECT_TRUE(stepped.converged);
  const auto bent = integrate<1>([&](double x) { return One{std::fabs(x - jump)}; }, ends);
  EXPECT_NEAR(bent.value[0], 0.5 * (jump * jump + (1.0 - jump) * (1.0 - jump)), 1e-13);
  EXPECT_TRUE(bent.converged);
}

// Some of these kinks lie between the last node of a panel and its end, where the rules alone see nothing.
TEST(Quadrature, FindsKinksAndJumpsWhereverTheyAre) {
  const std::vector<double> ends = {-1.0, 0.0, 1.0};
  for (int i = 0; i < 2000; ++i) {
    const double at = i < 40 ? std::pow(10.0, -0.2 * i) : std::fmod(0.6180339887498949 * i, 1.0);
    const auto bent = integrate<1>([&](double x) { return One{std::fabs(x - at)}; }, ends);
    EXPECT_NEAR(bent.value[0], 1.0 + at * at, 1e-10) << at;
    const auto stepped = integrate<1>([&](double x) { return One{x < at ? 1.0 : 0.0}; }, ends);
    EXPECT_NEAR(stepped.value[0], 1.0 + at, 1e-10) << at;
  }
}

TEST(Quadrature, NoiseEndsTheSearch) {
  const std::vector<double> ends = {0.0, 1.0};
  const auto noisy = integrate<1>([](double x) { return One{std::exp(x) + 1e-9 * std::sin(1e9 * x * x)}; }, ends);
  EXPECT_FALSE(noisy.converged);
  EXPECT_NEAR(noisy.value[0], std::exp(1.0) - 1.0, 1e-9);
  EXPECT_LE(noisy.evaluations, 3000);
}

TEST(Quadrature, IntegrableSingularityAndOscillation) {
  const std::vector<double> ends = {0.0, 1.0};
  const auto root = integrate<1>([](double x) { return One{std::sqrt(x)}; }, ends);
  EXPECT_NEAR(root.value[0], 2.0 / 3.0, 1e-12);
  const auto wave = integrate<1>([](double x) { return One{std::cos(300.0 * x)}; }, ends);
  EXPECT_NEAR(wave.value[0], std::sin(300.0) / 300.0, 1e-12);
}

TEST(Quadrature, ErrorEstimateCoversTheError) {
  const std::vector<double> ends = {-30.0, 1.0, 40.0};
  const auto result = integrate<1>([](double x) { return One{std::exp(-50.0 * x * x)}; }, ends, {.relative = 1e-6});
  EXPECT_LE(std::fabs(result.value[0] - std::sqrt(std::numbers::pi / 50.0)), result.error[0] + 1e-15);
}

TEST(Quadrature, WorkIsBounded) {
  const std::vector<double> ends = {0.0, 1.0};
  int calls = 0;
  const auto noise = [&](double x) {
    ++calls;
    return One{std::fmod(1e7 * x * x, 1.0)};
  };
  const auto result = integrate<1>(noise, ends, {.max_evaluations = 2000});
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.evaluations, calls);
  EXPECT_LE(calls, 3 * 2000 + 68);
}

TEST(Quadrature, ZeroAndEmptyPanels) {
  const std::vector<double> repeated = {0.0, 0.0, 1.0, 1.0};
  EXPECT_EQ(integrate<1>([](double) { return One{0.0}; }, repeated).value[0], 0.0);
  EXPECT_NEAR(integrate<1>([](double) { return One{2.0}; }, repeated).value[0], 2.0, 1e-15);
}

}  // namespace
}  // namespace gaussmith
