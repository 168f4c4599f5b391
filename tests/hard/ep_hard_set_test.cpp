// EP on the problems that break it: every one converges in auto, or says honestly that it did not.

#include "gaussmith/infer.hpp"
#include "support/hard_problems.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

TEST(HardSet, EpConvergesOrSaysSo) {
  const char* first = std::getenv("HARD_FIRST");
  const char* count = std::getenv("HARD_COUNT");
  const int begin = first ? std::atoi(first) : 0;
  const int problems = count ? std::atoi(count) : 500;
  std::map<std::string, int> last_stage;
  int failed = 0;
  for (int seed = begin; seed < begin + problems; ++seed) {
    const HardProblem hard = hard_problem(static_cast<std::uint64_t>(seed));
    const auto start = std::chrono::steady_clock::now();
    const Posterior q = infer(hard.model, Ep{});
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const Report& report = q.report();
    const std::string stage = report.notes.empty() ? "parallel" : report.notes.back();
    if (std::getenv("HARD_VERBOSE") || !report.converged())
      std::printf("%d %s N %ld: %s sweeps %d mismatch %.2e logZ %.6f power %g %.2fs | %s\n", seed, hard.name.c_str(),
                  (long)hard.model.rows(), report.converged() ? "ok" : "FAILED", report.iterations, report.residual,
                  q.log_evidence().value, std::get<Ep>(q.method()).power, s, stage.c_str());
    if (!report.converged()) ++failed;
    EXPECT_TRUE(std::isfinite(q.log_evidence().value));
    EXPECT_TRUE(q.latent().mean.allFinite() && q.latent().variance.allFinite());
  }
  EXPECT_LE(failed, problems / 100);
}

}  // namespace
}  // namespace gaussmith
