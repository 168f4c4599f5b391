// EP on the problems that break it: every one converges in auto, or says honestly that it did not.

#include "gaussmith/infer.hpp"
#include "support/hard_problems.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Fifty problems a test, so that they spread over cores and a failure names its neighbourhood.
class HardSet : public ::testing::TestWithParam<int> {};

TEST_P(HardSet, EpConvergesOrSaysSo) {
  int unconverged = 0;
  for (int k = 0; k < 50; ++k) {
    const auto seed = static_cast<std::uint64_t>(50 * GetParam() + k);
    const HardProblem hard = hard_problem(seed);
    const Posterior q = infer(hard.model, Ep{});
    const Report& report = q.report();
    if (report.converged())
      EXPECT_LE(report.residual, report.tolerance);
    else
      ++unconverged;
    EXPECT_TRUE(std::isfinite(q.log_evidence().value)) << seed << " " << hard.name;
    EXPECT_TRUE(q.latent().mean.allFinite() && q.latent().variance.allFinite()) << seed << " " << hard.name;
    EXPECT_GE(q.latent().variance.minCoeff(), 0.0) << seed << " " << hard.name;
    // A power below one is never silent.
    if (std::get<Ep>(q.method()).power < 1.0) {
      EXPECT_FALSE(report.warnings.empty()) << seed << " " << hard.name;
    }
    EXPECT_TRUE(report.converged()) << seed << " " << hard.name << ": " << report.brief();
  }
  EXPECT_EQ(unconverged, 0);
}

// Sanitizers and coverage make them ten times slower; there a tenth of the set shows what they look for.
#ifdef GAUSSMITH_INSTRUMENTED
constexpr int groups = 1;
#else
constexpr int groups = 10;
#endif
INSTANTIATE_TEST_SUITE_P(Seeds, HardSet, ::testing::Range(0, groups));

}  // namespace
}  // namespace gaussmith
