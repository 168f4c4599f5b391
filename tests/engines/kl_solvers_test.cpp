// Every solver of kl against the site form, and what the decoupled one promises of its steps.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/models.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

Kl with(KlSolver solver, DecoupledPenalty penalty = DecoupledPenalty::automatic) {
  return {.covariance = "full", .solver = solver, .decoupled = {.penalty = penalty}};
}

void expect_same(const Posterior& q, const Posterior& sites) {
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.log_evidence().value, sites.log_evidence().value, 1e-7);
  const double scale = 1.0 + sites.latent().mean.lpNorm<Eigen::Infinity>();
  EXPECT_LT((q.latent().mean - sites.latent().mean).lpNorm<Eigen::Infinity>(), 1e-5 * scale);
  EXPECT_LT(
      (q.latent().variance - sites.latent().variance).cwiseQuotient(sites.latent().variance).lpNorm<Eigen::Infinity>(),
      1e-5);
  EXPECT_EQ(q.log_evidence().kind, sites.log_evidence().kind);
}

TEST(KlSolvers, MeetTheSiteForm) {
  for (const char* likelihood : {"gaussian", "bernoulli-logit", "bernoulli-probit", "poisson", "laplace",
                                 "negative-binomial", "weibull", "gamma"}) {
    for (const bool process : {false, true}) {
      const Model model = process ? process_model(likelihood, 20, 3) : linear_model(likelihood, 24, 4, 5);
      const Posterior sites = infer(model, Kl{.covariance = "full"});
      for (const KlSolver solver : {KlSolver::decoupled, KlSolver::alpha_lambda, KlSolver::cholesky}) {
        SCOPED_TRACE(
            fmt::format("{} {} solver {}", likelihood, process ? "process" : "linear", static_cast<int>(solver)));
        expect_same(infer(model, with(solver)), sites);
      }
    }
  }
}

TEST(KlSolvers, DualMeetsTheSiteForm) {
  for (const char* likelihood : {"gaussian", "poisson", "exponential", "gamma", "weibull"}) {
    SCOPED_TRACE(likelihood);
    const Model model = process_model(likelihood, 20, 3);
    expect_same(infer(model, with(KlSolver::dual)), infer(model, Kl{.covariance = "full"}));
  }
}

/// A prior deviation of e^4 and strong correlations: q is so wide that logistic sites are nearly a cone.
Model wide_process(Index rows, std::uint64_t seed) {
  Model model = process_model("bernoulli-logit", rows, seed);
  auto& process = std::get<GaussianProcess>(model.prior);
  process.kernel = make_kernel("se", {{"signal_sd", {std::exp(4.0)}}, {"lengthscale", {2.0, 2.0}}});
  return model;
}

TEST(KlSolvers, MeetTheSiteFormUnderWidePriors) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const Model model = wide_process(40, seed);
    const Posterior sites = infer(model, Kl{.covariance = "full"});
    for (const DecoupledPenalty penalty :
         {DecoupledPenalty::automatic, DecoupledPenalty::none, DecoupledPenalty::printed}) {
      SCOPED_TRACE(fmt::format("seed {} penalty {}", seed, static_cast<int>(penalty)));
      expect_same(infer(model, with(KlSolver::decoupled, penalty)), sites);
    }
    expect_same(infer(model, with(KlSolver::alpha_lambda)), sites);
  }
}

TEST(KlSolvers, NoStartMakesTheSafePenaltiesLowerTheBound) {
  const char* likelihoods[] = {"bernoulli-logit", "poisson", "laplace", "bernoulli-probit"};
  for (int seed = 0; seed < repetitions(100); ++seed) {
    const auto own = static_cast<std::uint64_t>(seed);
    const Model model = process_model(likelihoods[seed % 4], 12, own);
    // Any Gaussian of the site form: that of other responses with noise of any size.
    Random random(own);
    Model other = model;
    other.sites = {observe("gaussian", 3.0 * random_vector(12, own + 500),
                           {{"variance", one(std::exp(6.0 * random.uniform() - 3.0))}})};
    const Posterior start = infer(other, Exact{});
    for (const DecoupledPenalty penalty : {DecoupledPenalty::none, DecoupledPenalty::printed}) {
      SCOPED_TRACE(fmt::format("seed {} penalty {}", seed, static_cast<int>(penalty)));
      const Posterior q = infer(model, with(KlSolver::decoupled, penalty), {.warm_start = &start});
      EXPECT_TRUE(q.report().converged()) << q.report().brief();
      const auto& history = q.report().history;
      ASSERT_GT(history.size(), 2U);
      for (std::size_t i = 1; i < history.size(); ++i)
        EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-11 * (1.0 + std::abs(history[i].objective)));
    }
  }
}

TEST(KlSolvers, OneAndTwoThreadsHaveTheSameBits) {
  for (const KlSolver solver : {KlSolver::sites, KlSolver::decoupled, KlSolver::alpha_lambda, KlSolver::cholesky}) {
    const Model model = process_model("bernoulli-logit", 60, 5);
    const Posterior a = infer(model, with(solver), {.threads = 1});
    const Posterior b = infer(model, with(solver), {.threads = 2});
    EXPECT_EQ(a.log_evidence().value, b.log_evidence().value);
    EXPECT_EQ(a.latent().variance, b.latent().variance);
    EXPECT_EQ(a.report().duality_gap, b.report().duality_gap);
  }
  const Model counts = process_model("poisson", 60, 5);
  const Posterior a = infer(counts, with(KlSolver::dual), {.threads = 1});
  const Posterior b = infer(counts, with(KlSolver::dual), {.threads = 2});
  EXPECT_EQ(a.log_evidence().value, b.log_evidence().value);
  EXPECT_EQ(a.latent().variance, b.latent().variance);
  EXPECT_EQ(a.report().duality_gap, b.report().duality_gap);
}

TEST(KlSolvers, PiecewiseBoundsLieBelowByNoMoreThanTheirError) {
  const Index rows = 12;
  const Model model = process_model("bernoulli-logit", rows, 4);
  const double exact = infer(model, Kl{}).log_evidence().value;
  for (const bool quadratic : {false, true})
    for (int pieces = 3; pieces <= 20; ++pieces) {
      const PiecewiseBound bound{quadratic, pieces};
      SCOPED_TRACE(bound.text());
      Model below = model;
      below.sites = {observe("bernoulli-logit", model.sites[0]->responses(), {{"bound", one(bound.code())}})};
      const double value = infer(below, Kl{.starts = 1}).log_evidence().value;
      EXPECT_GE(exact - value, 0.0);
      EXPECT_LE(exact - value, static_cast<double>(rows) * bound.error());
    }
}

TEST(KlSolvers, PenaltiesAreMonotoneAndMeetTheSiteForm) {
  for (const char* likelihood : {"bernoulli-logit", "poisson"}) {
    const Model model = process_model(likelihood, 15, 7);
    const Posterior sites = infer(model, Kl{.covariance = "full"});
    for (const DecoupledPenalty penalty :
         {DecoupledPenalty::none, DecoupledPenalty::printed, DecoupledPenalty::lagrangian}) {
      SCOPED_TRACE(fmt::format("{} penalty {}", likelihood, static_cast<int>(penalty)));
      const Posterior q = infer(model, with(KlSolver::decoupled, penalty));
      expect_same(q, sites);
      const auto& history = q.report().history;
      for (std::size_t i = 1; i < history.size(); ++i)
        EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-10 * (1.0 + std::abs(history[i].objective)));
    }
  }
}

TEST(KlSolvers, LagrangianIsQuadratic) {
  const Model model = process_model("bernoulli-logit", 15, 7);
  const double best = infer(model, Kl{.covariance = "full", .tolerance = 1e-10}).log_evidence().value;
  const Posterior q = infer(model, with(KlSolver::decoupled, DecoupledPenalty::lagrangian));
  const auto& history = q.report().history;
  const auto near = std::find_if(history.begin(), history.end(),
                                 [&](const Iteration& step) { return best - step.objective <= 0.05; });
  const auto there = std::find_if(history.begin(), history.end(),
                                  [&](const Iteration& step) { return best - step.objective <= 1e-10; });
  ASSERT_TRUE(there != history.end());
  EXPECT_LE(there - near, 5);
}

TEST(KlSolvers, HeavyTailsEndAtAStationaryPointOrSayThatTheyDoNot) {
  int ended = 0;
  const int all = repetitions(100);
  for (int seed = 0; seed < all; ++seed) {
    const Model model = linear_model("student-t", 15, 3, static_cast<std::uint64_t>(seed));
    // A start as wide as the prior.
    Model nothing = model;
    nothing.sites = {observe("gaussian", Vector::Zero(15), {{"variance", one(1e12)}})};
    const Posterior wide = infer(nothing, Exact{});
    const Posterior q = infer(model, with(KlSolver::decoupled), {.warm_start = &wide});
    if (!q.report().converged()) {
      EXPECT_FALSE(q.report().message.empty());
      continue;
    }
    ++ended;
    // The site form has nothing to do there.
    const Posterior again = infer(model, Kl{.covariance = "full"}, {.warm_start = &q});
    EXPECT_NEAR(again.log_evidence().value, q.log_evidence().value, 1e-7);
    EXPECT_LE(again.report().iterations, 3);
  }
  EXPECT_GE(10 * ended, 9 * all) << ended;
}

TEST(KlSolvers, StopAtAGap) {
  const Model model = process_model("bernoulli-logit", 30, 2);
  const double best = infer(model, Kl{.covariance = "full"}).log_evidence().value;
  for (const KlSolver solver : {KlSolver::sites, KlSolver::decoupled, KlSolver::alpha_lambda, KlSolver::cholesky}) {
    Kl options = with(solver);
    options.stop = KlStop::gap;
    options.gap_tolerance = 1e-3;
    const Posterior q = infer(model, options);
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    EXPECT_LE(best - q.log_evidence().value, *q.report().duality_gap + 1e-10);
    EXPECT_LE(*q.report().duality_gap, 1e-3);
  }
}

TEST(KlSolvers, Refuse) {
  const Model logit = linear_model("bernoulli-logit", 12, 3, 1);
  EXPECT_THROW((void)infer(logit, with(KlSolver::dual)), InvalidOption);
  Kl narrow = with(KlSolver::decoupled);
  narrow.covariance = "diagonal";
  EXPECT_THROW((void)infer(logit, narrow), InvalidOption);
  Kl negative = with(KlSolver::decoupled);
  negative.decoupled.delta = -1.0;
  EXPECT_THROW((void)infer(logit, negative), InvalidOption);
  EXPECT_THROW((void)infer(linear_model("student-t", 12, 3, 1), with(KlSolver::alpha_lambda)), InvalidOption);
  EXPECT_THROW((void)make_method("kl", {{"decoupled.penalty", "twice"}}), InvalidOption);
  EXPECT_NO_THROW((void)make_method("kl", {{"decoupled.penalty", "printed"}, {"decoupled.delta", "2"}}));
}

}  // namespace
}  // namespace gaussmith
