// Ill-conditioned models against sixty digits: a run that claims convergence is right, and most are.

#include "gaussmith/infer.hpp"
#include "support/ill_conditioned.hpp"
#include "support/precise_engines.hpp"
#include "support/seeds.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Largest error of a mean in standard deviations and largest relative error of a variance.
struct MomentErrors {
  double mean = 0.0, variance = 0.0;
};

MomentErrors moment_errors(const Marginals& found, const PreciseVector& mean, const PreciseVector& variance) {
  MomentErrors out;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const auto row = static_cast<Index>(i);
    const double v = static_cast<double>(variance[i]);
    out.mean = std::max(out.mean, std::abs(static_cast<double>(Precise(found.mean(row)) - mean[i])) / std::sqrt(v));
    out.variance =
        std::max(out.variance, std::abs(static_cast<double>(Precise(found.variance(row)) - variance[i])) / v);
  }
  return out;
}

double evidence_error(const Posterior& q, const auto& truth) {
  return std::abs(static_cast<double>(Precise(q.log_evidence().value) - truth.log_evidence));
}

/// What a claim of convergence promises: empty, or which parts of it do not hold.
std::string broken_promise(const Posterior& q, const auto& truth) {
  constexpr double moments = 1e-3;
  const auto check = [](const char* what, double error, double stated, double allowed) {
    return error <= allowed ? std::string() : fmt::format("{} off by {:.2g}, stated {:.2g}; ", what, error, stated);
  };
  const double stated = q.log_evidence().numerical_error;
  const double value = std::abs(static_cast<double>(truth.log_evidence));
  const MomentErrors latent = moment_errors(q.latent(), truth.latent_mean, truth.latent_variance);
  const MomentErrors weights = moment_errors(q.weights(), truth.weight_mean, truth.weight_variance);
  const Report& report = q.report();
  return check("evidence", evidence_error(q, truth), stated, 1e-5 * (1.0 + value) + 5.0 * stated) +
         check("means of rows", latent.mean, report.mean_error, moments) +
         check("means of weights", weights.mean, report.mean_error, moments) +
         check("variances of rows", latent.variance, report.variance_error, moments) +
         check("variances of weights", weights.variance, report.variance_error, moments);
}

const std::array<Method, 4> methods = {Exact{}, Laplace{}, Kl{}, Ep{}};

class Rounding : public ::testing::TestWithParam<int> {};

TEST_P(Rounding, AClaimOfConvergenceHolds) {
  int runs = 0;
  int right = 0;
  for (const std::uint64_t seed : seeds_of_group(GetParam())) {
    const IllConditioned problem = ill_conditioned(seed);
    const GaussianTruth truth = gaussian_truth(problem);
    for (const Method& method : methods) {
      const Posterior q = infer(problem.model, method);
      ++runs;
      if (!q.report().converged()) continue;
      const std::string broken = broken_promise(q, truth);
      EXPECT_EQ(broken, "") << seed << " " << problem.name << ", " << name_of(method) << ", condition 1e"
                            << truth.log10_condition << ", " << q.report().core;
      right += broken.empty() ? 1 : 0;
    }
  }
  // A handful of problems says little about their share.
  EXPECT_GE(right, runs >= 100 ? 3 * runs / 4 : runs / 3);
}

TEST_P(Rounding, AClaimHoldsForSitesThatAreNotGaussian) {
  struct Case {
    const char* likelihood;
    Method method;
    std::optional<PreciseFit> (*truth)(const IllConditioned&);
  };
  const std::array<Case, 4> cases = {{{"bernoulli-logit", Laplace{}, precise_laplace},
                                      {"poisson", Laplace{}, precise_laplace},
                                      {"poisson", Kl{}, precise_kl},
                                      {"bernoulli-probit", Ep{}, precise_ep}}};
  int runs = 0;
  int right = 0;
  for (const std::uint64_t seed : seeds_of_group(GetParam())) {
    const Case& c = cases[(seed / seed_groups) % cases.size()];
    const IllConditioned problem = ill_conditioned(seed, c.likelihood);
    const std::optional<PreciseFit> truth = c.truth(problem);
    if (!truth) continue;
    ++runs;
    const Posterior q = infer(problem.model, c.method);
    if (!q.report().converged()) continue;
    const std::string broken = broken_promise(q, *truth);
    EXPECT_EQ(broken, "") << seed << " " << problem.name << ", " << c.likelihood << ", " << name_of(c.method) << ", "
                          << q.report().core;
    right += broken.empty() ? 1 : 0;
  }
  EXPECT_GT(runs, 0);
  EXPECT_GE(right, runs / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Rounding, ::testing::Range(0, seed_groups));

}  // namespace
}  // namespace gaussmith
