// The search of kl climbs: no accepted step lowers the bound, however far the data lie from the prior.
#include "gaussmith/infer.hpp"
#include "gaussmith/random.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace gaussmith {
namespace {

/// Responses of twice the prior's standard deviation and without any shape: most lie many scales away from the mean.
Model contradicted(const std::string& likelihood, Index rows, double scale, double signal, double lengthscale,
                   std::uint64_t seed) {
  Random random(seed);
  Matrix x(rows, 1);
  Vector y(rows);
  for (Index n = 0; n < rows; ++n) {
    x(n, 0) = random.normal();
    y(n) = 2.0 * random.normal();
  }
  SiteArguments arguments = {{"scale", one(scale)}};
  if (likelihood == "student-t") arguments["nu"] = one(3.0);
  const auto kernel = make_kernel("se", {{"signal_sd", {signal}}, {"lengthscale", {lengthscale}}});
  return {.prior = GaussianProcess{.inputs = x, .kernel = kernel},
          .design = Identity{},
          .offset = {},
          .sites = {observe(likelihood, y, arguments)}};
}

void expect_climb(const Posterior& posterior) {
  const auto& history = posterior.report().history;
  for (std::size_t i = 1; i < history.size(); ++i)
    EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-8 * (1.0 + std::abs(history[i].objective)))
        << "step " << i << " of " << history.size() - 1;
}

TEST(KlAscent, LaplaceNoiseFarFromThePriorReachesTheOptimum) {
  for (const Index rows : {3, 10})
    for (const double scale : {0.025, 0.1})
      for (const double lengthscale : {1.0, 3.0})
        for (std::uint64_t seed = 0; seed < 100; ++seed) {
          SCOPED_TRACE(::testing::Message()
                       << rows << " rows, scale " << scale << ", length-scale " << lengthscale << ", seed " << seed);
          const Posterior q = infer(contradicted("laplace", rows, scale, 1.0, lengthscale, seed), Kl{});
          EXPECT_TRUE(q.report().converged()) << q.report().brief();
          expect_climb(q);
        }
}

TEST(KlAscent, LaplaceNoiseFarFromThePriorAgreesWithACholeskyFactorAsTheVariable) {
  for (const std::uint64_t seed : {34, 47, 65, 79, 96}) {
    const Model model = contradicted("laplace", 3, 0.025, 1.0, seed == 47 || seed == 96 ? 1.0 : 3.0, seed);
    const Posterior q = infer(model, Kl{});
    const Posterior root = infer(model, Kl{.covariance = "banded:2", .basis = Basis::whitened, .max_iterations = 5000});
    ASSERT_TRUE(root.report().converged()) << root.report().brief();
    EXPECT_NEAR(q.log_evidence().value, root.log_evidence().value, 1e-7) << "seed " << seed;
  }
}

TEST(KlAscent, StudentNoiseUnderAWidePriorNeverFalls) {
  for (const double scale : {0.025, 0.1})
    for (const double lengthscale : {0.15, 0.5, 1.5})
      for (int seed = 0; seed < testing::repetitions(20); ++seed) {
        SCOPED_TRACE(::testing::Message()
                     << "scale " << scale << ", length-scale " << lengthscale << ", seed " << seed);
        expect_climb(
            infer(contradicted("student-t", 10, scale, 100.0, lengthscale, static_cast<std::uint64_t>(seed)), Kl{}));
      }
}

/// A smooth curve with little noise, so that the bound passes through zero as the scale grows.
Model smooth_curve(double scale, std::uint64_t seed) {
  constexpr Index rows = 50;
  Random random(seed);
  Matrix x(rows, 2);
  Vector y(rows);
  for (Index n = 0; n < rows; ++n) {
    x(n, 0) = random.normal();
    x(n, 1) = random.normal();
    y(n) = std::sin(x(n, 0)) + 0.5 * x(n, 1) + 0.03 * random.normal();
  }
  const auto kernel = sum({make_kernel("se", {{"signal_sd", {5.0}}, {"lengthscale", {6.0, 12.0}}}),
                           make_kernel("white", {{"signal_sd", {1e-3}}})});
  return {.prior = GaussianProcess{.inputs = x, .kernel = kernel},
          .design = Identity{},
          .offset = {},
          .sites = {observe("student-t", y, {{"nu", one(3.0)}, {"scale", one(scale)}})}};
}

TEST(KlAscent, ABoundNearZeroIsReachedToTheTolerance) {
  bool above = false;
  bool below = false;
  for (double scale = 0.03; scale < 0.6; scale *= 1.1) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Posterior q = infer(smooth_curve(scale, seed), Kl{.starts = 1});
      EXPECT_TRUE(q.report().converged()) << "scale " << scale << ", seed " << seed << ": " << q.report().brief();
      (q.log_evidence().value > 0.0 ? above : below) = true;
    }
  }
  EXPECT_TRUE(above && below);
}

}  // namespace
}  // namespace gaussmith
