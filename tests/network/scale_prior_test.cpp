#include "network/scale_prior.hpp"

#include "numerics/quadrature.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

/// log normaliser, E[w], E[w^2], E[phi], E[phi^2] by an integral over phi and, inside, one over w.
std::array<double, 5> brute_force(bool laplace, const Normal& w, const Normal& phi, double power) {
  const double sd = std::sqrt(w.variance), spread = std::sqrt(phi.variance);
  const auto inner = [&](double at) {
    const double scale = std::exp(0.5 * at);
    const auto integrand = [&](double x) {
      const double log_prior = laplace
                                   ? -std::numbers::sqrt2 * std::abs(x) / scale - std::log(std::numbers::sqrt2 * scale)
                                   : normal_log_density(x, 0.0, scale * scale);
      const double f = std::exp(power * log_prior + normal_log_density(x, w.mean, w.variance));
      return std::array<double, 3>{f, x * f, x * x * f};
    };
    std::vector<double> breaks{w.mean - 12.0 * sd};
    for (const double b : {-8.0 * scale, -scale, 0.0, scale, 8.0 * scale, w.mean})
      if (b > breaks.back() + 1e-9 && b < w.mean + 12.0 * sd) breaks.push_back(b);
    breaks.push_back(w.mean + 12.0 * sd);
    return integrate<3>(integrand, breaks, {.relative = 1e-11}).value;
  };
  const auto outer = [&](double z) {
    const double at = phi.mean + spread * z;
    const auto [f, xf, xxf] = inner(at);
    const double density = std::exp(-0.5 * z * z - log_sqrt_two_pi);
    return std::array<double, 5>{f * density, xf * density, xxf * density, at * f * density, at * at * f * density};
  };
  const std::array<double, 5> breaks{-9.0, -3.0, 0.0, 3.0, 9.0};
  const auto value = integrate<5>(outer, breaks, {.relative = 1e-10}).value;
  return {std::log(value[0]), value[1] / value[0], value[2] / value[0], value[3] / value[0], value[4] / value[0]};
}

}  // namespace

TEST(ScalePrior, TiltedMomentsAreThoseOfTwoIntegrals) {
  for (const bool laplace : {false, true})
    for (const double power : {1.0, 0.8})
      for (const auto& [w, phi] :
           {std::pair(Normal{0.4, 0.05}, Normal{-2.0, 0.5}), std::pair(Normal{-1.5, 0.3}, Normal{-3.0, 4.0}),
            std::pair(Normal{0.01, 0.4}, Normal{-4.0, 9.0})}) {
        const TiltedWeight here = tilted_weight(laplace, w, phi, power);
        const auto truth = brute_force(laplace, w, phi, power);
        EXPECT_NEAR(here.log_normaliser, truth[0], 1e-8) << laplace << power;
        EXPECT_NEAR(here.weight.mean, truth[1], 1e-8);
        EXPECT_NEAR(here.weight.variance, truth[2] - truth[1] * truth[1], 1e-8);
        EXPECT_NEAR(here.scale.mean, truth[3], 1e-7);
        EXPECT_NEAR(here.scale.variance, truth[4] - truth[3] * truth[3], 1e-6);
      }
}

TEST(ScalePrior, KnownScaleIsTheLimitOfANarrowOne) {
  for (const bool laplace : {false, true}) {
    const TiltedWeight known = tilted_weight(laplace, {0.5, 0.2}, {-1.0, 0.0}, 0.9);
    const TiltedWeight narrow = tilted_weight(laplace, {0.5, 0.2}, {-1.0, 1e-10}, 0.9);
    EXPECT_NEAR(known.log_normaliser, narrow.log_normaliser, 1e-9);
    EXPECT_NEAR(known.weight.mean, narrow.weight.mean, 1e-9);
    EXPECT_NEAR(known.weight.variance, narrow.weight.variance, 1e-9);
  }
}

TEST(ScalePrior, LaplaceWeightsUnderStrongShrinkageLoseNoDigits) {
  // N(w | 0, 1) times a Laplace density of rate y: E[w^2] = y^-2 times that of t under e^(-t - t^2 / (2 y^2)), t > 0.
  for (const double y : {0.5, 10.0, 59.9, 60.1, 400.0}) {
    const auto integrand = [&](double t) {
      const double f = std::exp(-t - 0.5 * t * t / (y * y));
      return std::array<double, 2>{f, t * t * f};
    };
    const std::array<double, 4> breaks{0.0, 1.0, 8.0, 60.0};
    const auto value = integrate<2>(integrand, breaks, {.relative = 1e-13}).value;
    const double truth = value[1] / value[0] / (y * y);
    const TiltedWeight here = tilted_weight(true, {0.0, 1.0}, {2.0 * std::log(std::numbers::sqrt2 / y), 0.0}, 1.0);
    EXPECT_NEAR(here.weight.variance / truth, 1.0, 1e-10) << y;
  }
}

TEST(ScalePrior, ExtremeScalesStayFinite) {
  for (const double mean : {-60.0, 0.0, 60.0})
    for (const bool laplace : {false, true}) {
      const TiltedWeight here = tilted_weight(laplace, {30.0, 1e-4}, {mean, 100.0}, 0.8);
      EXPECT_TRUE(std::isfinite(here.log_normaliser) && std::isfinite(here.weight.mean) &&
                  std::isfinite(here.weight.variance) && std::isfinite(here.scale.mean) &&
                  std::isfinite(here.scale.variance))
          << mean << laplace;
    }
}

TEST(OutputPrior, TiltedMomentsAreThoseOfAnIntegral) {
  const double scale = 2.0, degrees = 4.0, power = 0.8;
  for (const Normal& v : {Normal{1.0, 0.3}, Normal{-0.5, 0.4}, Normal{0.05, 3.0}}) {
    const auto integrand = [&](double x) {
      const double t = std::tgamma(2.5) / (std::tgamma(2.0) * std::sqrt(4.0 * std::numbers::pi) * scale) *
                       std::pow(1.0 + x * x / (degrees * scale * scale), -2.5);
      const double f = std::pow(2.0 * t, power) * std::exp(normal_log_density(x, v.mean, v.variance));
      return std::array<double, 3>{f, x * f, x * x * f};
    };
    const std::array<double, 4> breaks{0.0, 1.0, 4.0, 25.0};
    const auto value = integrate<3>(integrand, breaks).value;
    const TiltedOutputWeight here = tilted_output_weight(v, scale, degrees, power);
    EXPECT_NEAR(here.log_normaliser, std::log(value[0]), 1e-9);
    EXPECT_NEAR(here.weight.mean, value[1] / value[0], 1e-9);
    EXPECT_NEAR(here.weight.variance, value[2] / value[0] - std::pow(value[1] / value[0], 2), 1e-9);
  }
}

}  // namespace gaussmith
