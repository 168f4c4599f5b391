#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// A one-dimensional model N(w | 0, variance) t(w).
Model scalar_model(double variance, Sites sites) {
  return Model{
      .prior = Isotropic{Vector::Zero(1), variance}, .design = Identity{}, .offset = {}, .sites = {std::move(sites)}};
}

TEST(Laplace, FindsTheModeOfAScalarModelThatCanBeSolvedByHand) {
  // N(w | 0, 1) Poisson(2 | e^w): 2 - e^m - m = 0 at m = 0.442854..., curvature 1 + e^m.
  const Model model = scalar_model(1.0, observe("poisson", one(2)));
  double m = 0.4;
  for (int i = 0; i < 50; ++i) m -= (m + std::exp(m) - 2.0) / (1.0 + std::exp(m));
  const Posterior q = infer(model, Laplace{});
  EXPECT_TRUE(q.report().converged());
  EXPECT_LT(q.report().residual, 1e-8);
  EXPECT_NEAR(q.latent().mean(0), m, 1e-10);
  EXPECT_NEAR(q.latent().variance(0), 1.0 / (1.0 + std::exp(m)), 1e-10);
  const double log_joint = 2 * m - std::exp(m) - std::log(2.0) - 0.5 * m * m;
  EXPECT_NEAR(q.log_evidence().value, log_joint - 0.5 * std::log(1.0 + std::exp(m)), 1e-10);
  EXPECT_EQ(q.log_evidence().kind, EvidenceKind::approximation);
}

TEST(Laplace, ReachesAProperModeFromAnywhereForHeavyTails) {
  // Conflicting neighbours and gross outliers: the log joint has several modes and saddles.
  int negative = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Index n = 25;
    Model model = process_model("student-t", n, seed);
    Vector y = model.sites[0]->responses();
    Random random(seed);
    for (Index i = 0; i < n; i += 4) y(i) += 12.0 * random.normal();
    const bool cauchy = seed % 2 == 0;
    model.sites = {cauchy ? observe("cauchy", y, {{"scale", one(0.1)}})
                          : observe("student-t", y, {{"nu", one(2)}, {"scale", one(0.15)}})};
    const Posterior q = infer(model, Laplace{}, {.seed = seed});
    ASSERT_TRUE(q.report().converged()) << seed << ": " << q.report().brief();
    negative += q.report().negative_precisions > 0 ? 1 : 0;
    EXPECT_GT(q.latent().variance.minCoeff(), 0.0);
    // Stationarity, recomputed: a = grad log t and eta = m0 + K a.
    Vector gradient(n);
    model.sites[0]->log_density(0, view(q.latent().mean),
                                {.value = {}, .first = view(gradient), .second = {}, .third = {}});
    Matrix k;
    const auto& process = std::get<GaussianProcess>(model.prior);
    process.kernel->gram(process.inputs, k);
    const Vector eta = Vector::Constant(n, process.mean) + k * gradient;
    EXPECT_LT((eta - q.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6 * (1 + gradient.norm()));
    // Warm starts far from the data end in a proper mode too.
    const Posterior again = infer(model, Laplace{}, {.seed = seed, .warm_start = &q});
    EXPECT_TRUE(again.report().converged());
  }
  EXPECT_GT(negative, 10) << "these problems should exercise negative precisions";
}

TEST(Laplace, EscapesFromAStationaryPointThatIsNoMode) {
  // Two Student-t sites at +-5 on one weight with a wide prior: the prior mean 0 is stationary, but a minimum.
  Model model{.prior = Isotropic{Vector::Zero(1), 100.0},
              .design = Matrix(Matrix::Ones(2, 1)),
              .offset = {},
              .sites = {observe("student-t", (Vector(2) << -5, 5).finished(), {{"nu", one(2)}, {"scale", one(0.5)}})}};
  const Posterior q = infer(model, Laplace{}, {.seed = 3});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(std::abs(q.latent().mean(0)), 5.0, 0.5);
  EXPECT_NE(q.report().message.find("escaped"), std::string::npos) << q.report().message;
}

TEST(Laplace, TakesLargeCountsFromAColdStart) {
  const Model model = scalar_model(1e4, observe("poisson", one(1e6)));
  const Posterior q = infer(model, Laplace{});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_NEAR(q.latent().mean(0), std::log(1e6), 1e-6);
}

TEST(Laplace, SaysWhenItRunsOutOfIterationsAndReturnsWhatItHas) {
  const Posterior q = infer(process_model("bernoulli-logit", 20, 1), Laplace{.max_iterations = 1});
  EXPECT_EQ(q.report().status, Status::iteration_limit);
  EXPECT_NE(q.report().message.find("max_iterations"), std::string::npos);
  EXPECT_TRUE(std::isfinite(q.log_evidence().value));
  EXPECT_GT(q.latent().variance.minCoeff(), 0.0);
}

TEST(Laplace, AsksTheCallerAfterEachIteration) {
  const Model model = process_model("poisson", 15, 2);
  int calls = 0;
  const Posterior q = infer(model, Laplace{}, {.progress = [&](const Iteration& i) {
                              EXPECT_EQ(i.number, ++calls);
                              return calls == 2 ? Next::accept : Next::proceed;
                            }});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(q.report().status, Status::stopped);
  EXPECT_THROW((void)infer(model, Laplace{}, {.progress = [](const Iteration&) { return Next::discard; }}),
               Interrupted);
}

TEST(Laplace, ObjectiveNeverFalls) {
  for (const std::string& likelihood : smooth_likelihoods()) {
    const Posterior q = infer(process_model(likelihood, 20, 9), Laplace{});
    ASSERT_TRUE(q.report().converged()) << likelihood;
    const auto& history = q.report().history;
    for (std::size_t i = 1; i < history.size(); ++i)
      EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-9 * (1 + std::abs(history[i].objective)));
  }
}

TEST(Laplace, WarmStartGivesTheSameAnswerInFewerSteps) {
  const Model model = process_model("bernoulli-probit", 40, 4);
  const Posterior cold = infer(model, Laplace{});
  const Posterior warm = infer(model, Laplace{}, {.warm_start = &cold});
  EXPECT_LT(warm.report().iterations, cold.report().iterations);
  EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-10);
}

TEST(Laplace, RefusesKinksAndImproperModels) {
  const Model kinked = linear_model("laplace", 8, 3, 1);
  EXPECT_THROW((void)infer(kinked, Laplace{}), InvalidOption);
  Model improper{.prior = NoGaussian{3},
                 .design = Matrix(random_matrix(2, 3, 1)),
                 .offset = {},
                 .sites = {random_sites("gaussian", 2, 1)}};
  EXPECT_THROW((void)infer(improper, Laplace{}), InvalidModel);
  EXPECT_THROW((void)infer(improper, Exact{}), InvalidModel);
  EXPECT_THROW((void)infer(linear_model("poisson", 5, 2, 1), Exact{}), InvalidOption);
  EXPECT_THROW((void)infer(kinked, Laplace{.tolerance = 0.0}), InvalidOption);
  EXPECT_THROW((void)infer(process_model("poisson", 5, 1), Laplace{}, {.threads = -1}), InvalidOption);
}

TEST(Laplace, ReturnsFiniteNumbersWhereThereIsNoMode) {
  // Separable classes and no prior: the likelihood grows for ever, until its curvature underflows.
  for (const char* likelihood : {"bernoulli-logit", "bernoulli-probit"}) {
    const Model model{.prior = NoGaussian{1},
                      .design = Matrix(Vector::LinSpaced(6, -1, 1)),
                      .offset = {},
                      .sites = {observe(likelihood, (Vector(6) << -1, -1, -1, 1, 1, 1).finished())}};
    const Posterior q = infer(model, Laplace{.max_iterations = 5000, .tolerance = 1e-6});
    EXPECT_FALSE(q.report().converged()) << q.report().brief();
    EXPECT_TRUE(std::isfinite(q.log_evidence().value)) << q.report().brief();
    EXPECT_TRUE(q.latent().variance.allFinite());
  }
}

TEST(Laplace, DoesWithoutAGaussianFactor) {
  // Flat prior, Gaussian sites: least squares.
  const Matrix h = random_matrix(30, 4, 1);
  const Vector y = random_vector(30, 2);
  const Model model{
      .prior = NoGaussian{4}, .design = h, .offset = {}, .sites = {observe("gaussian", y, {{"variance", one(0.5)}})}};
  const Posterior q = infer(model, Laplace{});
  const Vector w = dense_solve(h.transpose() * h, h.transpose() * y);
  EXPECT_LT((q.weights().mean - w).norm(), 1e-10);
  const Posterior counts = infer(
      Model{.prior = NoGaussian{4}, .design = h, .offset = {}, .sites = {random_sites("poisson", 30, 3)}}, Laplace{});
  EXPECT_TRUE(counts.report().converged());
}

TEST(Laplace, SameBitsAtAnyThreadCountOfOurOwnAndTheSameNumbersOverall) {
  const Model model = process_model("negative-binomial", 60, 6);
  const Posterior a = infer(model, Laplace{}, {.threads = 1});
  const Posterior b = infer(model, Laplace{}, {.threads = 2});
  EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-11 * std::abs(a.log_evidence().value));
  const Posterior c = infer(model, Laplace{}, {.threads = 1});
  EXPECT_EQ(a.log_evidence().value, c.log_evidence().value);
  EXPECT_EQ((a.latent().mean - c.latent().mean).norm(), 0.0);
}

TEST(Laplace, RowOrderAndLabelFlipDoNotMatter) {
  const Model model = process_model("bernoulli-logit", 20, 8);
  const auto& process = std::get<GaussianProcess>(model.prior);
  Model reversed = model;
  reversed.prior = GaussianProcess{process.inputs->colwise().reverse(), process.kernel, process.mean};
  reversed.sites = {observe("bernoulli-logit", model.sites[0]->responses().reverse())};
  EXPECT_NEAR(infer(model, Laplace{}).log_evidence().value, infer(reversed, Laplace{}).log_evidence().value, 1e-10);
  Model flipped = model;
  flipped.prior = GaussianProcess{process.inputs, process.kernel, -process.mean};
  flipped.sites = {observe("bernoulli-logit", -model.sites[0]->responses())};
  EXPECT_NEAR(infer(model, Laplace{}).log_evidence().value, infer(flipped, Laplace{}).log_evidence().value, 1e-10);
}

TEST(Laplace, StoppedShortOfTheModeIsNotExact) {
  const Model model = linear_model("gaussian", 12, 4, 9);
  const Posterior q = infer(model, Laplace{}, {.progress = [](const Iteration&) { return Next::accept; }});
  EXPECT_EQ(q.report().status, Status::stopped);
  EXPECT_EQ(q.log_evidence().kind, EvidenceKind::approximation);
  EXPECT_EQ(infer(model, Laplace{}).log_evidence().kind, EvidenceKind::exact);
}

}  // namespace
}  // namespace gaussmith
