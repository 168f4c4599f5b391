// Chains and annealed particles on posteriors that are known, their diagnostics on chains that are.

#include "sampling/chains.hpp"
#include "numerics/normal_numbers.hpp"
#include "sampling/annealed_importance.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using testing::random_matrix;
using testing::random_vector;

/// A Gaussian model with its posterior and evidence by explicit inverses, and a Gaussian that is not quite it.
struct Known {
  Model model;
  Vector mean;
  Matrix covariance;
  double log_evidence;
  std::optional<ReferenceGaussian> around;
};

Known known_model(std::uint64_t seed) {
  const Matrix h = random_matrix(6, 3, seed);
  const Vector y = random_vector(6, seed + 1);
  Known out{.model = {.prior = Isotropic{Vector::Constant(3, 0.4), 2.0}, .design = h, .sites = {}},
            .mean = {},
            .covariance = {},
            .log_evidence = 0.0,
            .around = {}};
  out.model.sites = {observe("gaussian", y, {{"variance", one(0.5)}})};
  out.covariance = testing::dense_inverse(h.transpose() * h / 0.5 + Matrix::Identity(3, 3) / 2.0);
  out.mean = out.covariance * (h.transpose() * y / 0.5 + Vector::Constant(3, 0.2));
  const Matrix k = 2.0 * h * h.transpose() + 0.5 * Matrix::Identity(6, 6);
  const Vector r = y - 0.4 * h.rowwise().sum();
  out.log_evidence = -0.5 * (r.dot(Vector(testing::dense_solve(k, r))) + std::log(testing::dense_determinant(k)) +
                             6.0 * std::log(2.0 * std::numbers::pi));
  SiteApproximation sites{Vector::Constant(6, 1.4), y * 1.5};
  out.around = ReferenceGaussian::make(std::make_shared<const SamplingSpace>(out.model), sites);
  return out;
}

ChainDraws run(const Known& known, bool elliptical, const ChainOptions& options, bool around_prior = false) {
  const SiteTotals sites(known.model);
  const ChainTarget target{&*known.around, &sites};
  static const Progress::Callback none;
  return run_chains(
      target,
      [&](int chain, Random random) {
        const Vector from = Vector::Constant(3, chain % 2 == 0 ? 2.0 : -2.0);
        return elliptical ? elliptical_chain(target, from, random, around_prior)
                          : no_u_turn_chain(target, from, 0.8, 10, random);
      },
      options, Progress(none, nullptr));
}

TEST(Chains, HaveTheMomentsOfAKnownPosterior) {
  const Known known = known_model(3);
  for (const int kind : {0, 1, 2}) {
    const bool elliptical = kind > 0;
    const ChainDraws draws = run(known, elliptical, {.chains = 4, .draws = 8000, .warmup = 200, .seed = 5}, kind == 2);
    EXPECT_LT(draws.worst.rhat, 1.02);
    EXPECT_GT(draws.worst.bulk_ess, 1000.0);
    for (Index i = 0; i < 3; ++i) {
      const Vector values = draws.weights.row(i);
      const Matrix chains = Eigen::Map<const Matrix>(values.data(), draws.length, draws.chains);
      const ChainDiagnostics worth = diagnose_chains(chains);
      const double variance = known.covariance(i, i);
      EXPECT_LT(std::abs(values.mean() - known.mean(i)), 4.5 * std::sqrt(variance / worth.mean_ess)) << elliptical;
      const double seen = (values.array() - known.mean(i)).square().mean();
      EXPECT_LT(std::abs(seen / variance - 1.0), 4.5 * std::sqrt(2.0 / worth.square_ess)) << elliptical;
    }
  }
}

TEST(Chains, SameSeedSameBytesAtAnyNumberOfThreads) {
  const Known known = known_model(8);
  for (const bool elliptical : {true, false}) {
    const ChainDraws one_thread =
        run(known, elliptical, {.chains = 3, .draws = 300, .warmup = 50, .seed = 5, .threads = 1});
    const ChainDraws two = run(known, elliptical, {.chains = 3, .draws = 300, .warmup = 50, .seed = 5, .threads = 2});
    EXPECT_EQ(one_thread.latents, two.latents);
    EXPECT_EQ(one_thread.weights, two.weights);
    EXPECT_EQ(one_thread.worst.rhat, two.worst.rhat);
  }
}

TEST(Chains, StopWhenTheCallerHasEnough) {
  const Known known = known_model(8);
  const SiteTotals sites(known.model);
  const ChainTarget target{&*known.around, &sites};
  int told = 0;
  const Progress::Callback enough = [&](const Iteration&) { return ++told > 8 ? Next::accept : Next::proceed; };
  const ChainDraws draws = run_chains(
      target, [&](int, Random random) { return elliptical_chain(target, Vector::Zero(3), random); },
      {.chains = 2, .draws = 4000, .warmup = 40, .seed = 1}, Progress(enough, nullptr));
  EXPECT_TRUE(draws.stopped);
  EXPECT_EQ(draws.length, 140);
  EXPECT_EQ(draws.latents.cols(), 280);
}

TEST(AnnealedImportance, FindsTheEvidenceFromThePriorAndFromAFit) {
  const Known known = known_model(4);
  const SiteTotals sites(known.model);
  static const Progress::Callback none;
  const auto prior = ReferenceGaussian::prior(known.around->shared_space());
  ASSERT_TRUE(prior.has_value());
  for (const ReferenceGaussian* start : {&*prior, &*known.around}) {
    const AnnealedParticles one_thread = anneal(
        {start, &sites}, {.particles = 500, .temperatures = 60, .seed = 2, .threads = 1}, Progress(none, nullptr));
    EXPECT_LT(std::abs(one_thread.log_evidence - known.log_evidence), 4.0 * one_thread.evidence_error);
    EXPECT_LT(one_thread.evidence_error, 0.15);
    const Vector mean = one_thread.weights * one_thread.smoothed;
    for (Index i = 0; i < 3; ++i)
      EXPECT_LT(std::abs(mean(i) - known.mean(i)), 4.5 * std::sqrt(known.covariance(i, i) / one_thread.effective));
    const AnnealedParticles two = anneal(
        {start, &sites}, {.particles = 500, .temperatures = 60, .seed = 2, .threads = 2}, Progress(none, nullptr));
    EXPECT_EQ(one_thread.latents, two.latents);
  }
}

TEST(ChainDiagnostics, KnowsIndependentDraws) {
  Random random(3);
  Matrix draws(1000, 4);
  fill_normal(random, {draws.data(), 4000});
  const ChainDiagnostics found = diagnose_chains(draws);
  EXPECT_LT(found.rhat, 1.01);
  EXPECT_NEAR(found.bulk_ess, 4000.0, 600.0);
  EXPECT_NEAR(found.tail_ess, 3800.0, 700.0);
}

TEST(ChainDiagnostics, KnowsTheWorthOfAnAutoregression) {
  // x' = rho x + sqrt(1 - rho^2) e: draws are worth (1 - rho) / (1 + rho) of their number.
  Random random(4);
  constexpr double rho = 0.8;
  Matrix draws(5000, 4);
  for (Index c = 0; c < 4; ++c) {
    double x = random.normal();
    for (Index i = 0; i < draws.rows(); ++i) draws(i, c) = x = rho * x + std::sqrt(1.0 - rho * rho) * random.normal();
  }
  const ChainDiagnostics found = diagnose_chains(draws);
  EXPECT_NEAR(found.mean_ess, 20000.0 * (1.0 - rho) / (1.0 + rho), 350.0);
  EXPECT_NEAR(found.square_ess, 20000.0 * (1.0 - rho * rho) / (1.0 + rho * rho), 700.0);
}

TEST(ChainDiagnostics, SeesChainsThatDisagreeInPlaceOrInSpread) {
  Random random(5);
  Matrix draws(500, 4);
  fill_normal(random, {draws.data(), 2000});
  Matrix apart = draws;
  apart.col(3).array() += 3.0;
  EXPECT_GT(diagnose_chains(apart).rhat, 1.3);
  Matrix wide = draws;
  wide.col(3) *= 6.0;
  EXPECT_GT(diagnose_chains(wide).rhat, 1.1);
  EXPECT_EQ(diagnose_chains(Matrix::Constant(100, 2, 1.5)).rhat, 1.0);
}

TEST(NormalNumbers, HaveTheDistributionOfTheNormal) {
  Random random(7);
  Vector z(200001);
  fill_normal(random, view(z));
  EXPECT_NEAR(z.mean(), 0.0, 4.0 / std::sqrt(200000.0));
  EXPECT_NEAR(z.squaredNorm() / 200001.0, 1.0, 4.0 * std::sqrt(2.0 / 200000.0));
  // The largest distance of the distribution functions: below 1.95 / sqrt(n) with probability 0.999.
  std::sort(z.begin(), z.end());
  double distance = 0.0;
  for (Index i = 0; i < z.size(); ++i)
    distance = std::max(distance, std::abs(0.5 * std::erfc(-z(i) / std::numbers::sqrt2) -
                                           (static_cast<double>(i) + 0.5) / static_cast<double>(z.size())));
  EXPECT_LT(distance, 1.95 / std::sqrt(200000.0));
}

}  // namespace
}  // namespace gaussmith
