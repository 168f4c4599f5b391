#include "gaussmith/errors.hpp"
#include "gaussmith/trust.hpp"
#include "support/models.hpp"
#include "support/plane_truth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

/// Four successes and nothing else under a wide prior: skewed.
Model all_successes() {
  return {.prior = Isotropic{Vector::Zero(2), 9.0},
          .design = Matrix((Matrix(4, 2) << 1, 0.5, 1, -1, 1, 2, 1, 0.3).finished()),
          .offset = {},
          .sites = {observe("bernoulli-logit", Vector::Ones(4))}};
}

/// Two groups of rows that want the weight elsewhere.
Model two_groups(double variance = 4.0) {
  return {.prior = Isotropic{Vector::Zero(1), variance},
          .design = Matrix(Matrix::Ones(6, 1)),
          .offset = {},
          .sites = {observe("student-t", (Vector(6) << -2.1, -2, -1.9, 1.9, 2, 2.1).finished(),
                            {{"nu", one(2)}, {"scale", one(0.1)}})}};
}

TEST(Diagnose, TellsLaplaceFromEpOnSkewedData) {
  const Model model = all_successes();
  const TrustCard laplace = diagnose(infer(model, Laplace{}));
  EXPECT_EQ(laplace.verdict, Verdict::do_not_trust);
  EXPECT_EQ(laplace.marginals, Verdict::do_not_trust);
  EXPECT_NE(laplace.advice.find("--method ep"), std::string::npos) << laplace.advice;
  const TrustCard ep = diagnose(infer(model, Ep{}));
  EXPECT_EQ(ep.verdict, Verdict::trust);
  EXPECT_EQ(ep.advice, "");
  // The evidence lies in both intervals, and EP's is corrected towards it.
  const double truth = plane_truth(model).log_evidence;
  for (const TrustCard* card : {&laplace, &ep}) {
    EXPECT_LT(card->evidence_lower, truth);
    ASSERT_TRUE(card->evidence_upper);
    EXPECT_GT(*card->evidence_upper, truth);
    EXPECT_LT(*card->evidence_upper - card->evidence_lower, 0.5);
    EXPECT_TRUE(card->modes_searched);
    EXPECT_EQ(card->mode_starts, 0);
  }
  EXPECT_LT(std::abs(*ep.log_evidence_corrected - truth),
            0.2 * std::abs(infer(model, Ep{}).log_evidence().value - truth));
}

TEST(Diagnose, MeasuresWhatTheFitIsOffBy) {
  const Model model = all_successes();
  const PlaneTruth truth = plane_truth(model);
  const Posterior q = infer(model, Laplace{});
  const TrustCard card = diagnose(q, {.draws = 8000, .most_draws = 8000});
  ASSERT_TRUE(card.check);
  EXPECT_NEAR(card.check->log_evidence, truth.log_evidence, 5.0 * card.check->log_evidence_error);
  for (Index i = 0; i < 4; ++i) {
    EXPECT_NEAR(card.check->latent_mean(i), truth.rows_mean(i), 0.1 * truth.rows_sd(i));
    EXPECT_NEAR(card.check->latent_sd(i), truth.rows_sd(i), 0.1 * truth.rows_sd(i));
  }
  EXPECT_EQ(card.check->draws, 8000);
}

TEST(Diagnose, TrustsExactPosteriors) {
  for (const Method& method : {Method(Exact{}), Method(Laplace{}), Method(Ep{})}) {
    const TrustCard card = diagnose(infer(linear_model("gaussian", 12, 3, 1), method));
    EXPECT_EQ(card.verdict, Verdict::trust);
    EXPECT_EQ(card.evidence_lower, *card.evidence_upper);
    EXPECT_FALSE(card.check);
    EXPECT_TRUE(card.loo_pit.allFinite());
  }
}

TEST(Diagnose, FindsTheOtherModeAndTrustsNoGaussian) {
  const Model model = two_groups();
  const double truth = plane_truth(model, 4001).log_evidence;
  for (const Method& method : {Method(Laplace{}), Method(Kl{}), Method(Ep{})}) {
    const TrustCard card = diagnose(infer(model, method), {}, {.seed = 3});
    EXPECT_EQ(card.modes_found, 2) << name_of(method);
    EXPECT_GT(card.mode_starts, 20);
    ASSERT_EQ(card.mode_places.size(), 2U);
    EXPECT_NEAR(std::abs(card.mode_places[0](0)), 2.0, 0.1);
    EXPECT_NEAR(card.mode_places[0](0), -card.mode_places[1](0), 0.1);
    EXPECT_NE(card.verdict, Verdict::trust) << name_of(method);
    EXPECT_GT(card.evidence_upper.value_or(truth + 1.0), truth);
    EXPECT_LT(card.evidence_lower, truth);
  }
}

TEST(Diagnose, AdvisesAMethodByACheckOfItsOwnWhereItsOwnDrawsSayNothing) {
  // Mean field of a process: its evidence lies so far below that its draws say nothing of others.
  Model model = process_model("bernoulli-probit", 60, 2);
  std::get<GaussianProcess>(model.prior).kernel = make_kernel("se", {{"signal_sd", {6.0}}, {"lengthscale", {1.0}}});
  const Posterior q = infer(model, Vmf{});
  const TrustCard card = diagnose(q, {.most_draws = 8000});
  ASSERT_TRUE(card.check);
  EXPECT_GT(card.check->pareto_k, 0.5);
  EXPECT_EQ(card.evidence, Verdict::do_not_trust);
  EXPECT_EQ(card.check->draws, 4000) << "the bound by Markov's inequality decides";
  EXPECT_NE(card.advice.find("a check of its own trusts"), std::string::npos) << card.advice;
}

TEST(Diagnose, AdvisesTheWholeProcessInPlaceOfInducingVariables) {
  Model model = process_model("bernoulli-logit", 40, 2);
  std::get<GaussianProcess>(model.prior).inducing = Inducing{.inputs = random_matrix(2, 2, 8)};
  const TrustCard card = diagnose(infer(model, Kl{}));
  EXPECT_NE(card.verdict, Verdict::trust);
  EXPECT_NE(card.advice.find("the whole process"), std::string::npos) << card.advice;
}

TEST(Diagnose, SaysThatModesWereNotSearchedFor) {
  const TrustCard card = diagnose(infer(two_groups(), Laplace{}), {.modes = false, .advice = false});
  EXPECT_FALSE(card.modes_searched);
  EXPECT_FALSE(card.evidence_upper);
  EXPECT_NE(card.verdict, Verdict::trust);
}

TEST(Diagnose, GivesTheSameBytesAtAnyNumberOfThreads) {
  for (const Model& model : {two_groups(), process_model("student-t", 30, 3), linear_model("poisson", 30, 3, 4)}) {
    const Posterior q = infer(model, Laplace{});
    const TrustCard one = diagnose(q, {.most_draws = 8000}, {.threads = 1, .seed = 7});
    const TrustCard two = diagnose(q, {.most_draws = 8000}, {.threads = 2, .seed = 7});
    ASSERT_TRUE(one.check && two.check);
    EXPECT_EQ(one.check->log_evidence, two.check->log_evidence);
    EXPECT_EQ(one.check->latent_sd, two.check->latent_sd);
    EXPECT_EQ(one.reasons, two.reasons);
    EXPECT_EQ(one.advice, two.advice);
    EXPECT_NE(one.check->log_evidence,
              diagnose(q, {.most_draws = 8000}, {.threads = 1, .seed = 8}).check->log_evidence);
  }
}

TEST(Diagnose, WorksForEveryEngineAndManyKindsOfModels) {
  std::vector<Posterior> all;
  all.push_back(infer(linear_model("student-t", 12, 2, 1), Vb{}));
  Kl diagonal;
  diagonal.covariance = "diagonal";
  all.push_back(infer(linear_model("poisson", 12, 3, 1), diagonal));
  all.push_back(infer(linear_model("laplace", 4, 9, 2), Ep{}));
  all.push_back(infer(process_model("weibull", 10, 2), Laplace{}));
  Model weighted = linear_model("bernoulli-logit", 10, 2, 6);
  weighted.weights = Vector::LinSpaced(10, 0.5, 3.0);
  all.push_back(infer(weighted, Ep{}));
  const Vector labels = (Vector(8) << 0, 1, 2, 0, 1, 2, 1, 0).finished();
  Model classes{.prior = GaussianProcess{random_matrix(8, 2, 3),
                                         make_kernel("se", {{"signal_sd", {1.0}}, {"lengthscale", {1.0}}}), 0.0},
                .design = Identity{},
                .offset = {},
                .sites = {observe("multinomial-logit", labels, {{"classes", one(3)}})}};
  classes.latents.count = 3;
  all.push_back(infer(classes, Laplace{}));
  classes.sites = {observe("multinomial-probit", labels, {{"classes", one(3)}})};
  all.push_back(infer(classes, Vmf{}));
  for (const Posterior& q : all) {
    const TrustCard card = diagnose(q, {.most_draws = 8000, .advice = false});
    EXPECT_TRUE(card.check) << name_of(q.method());
    EXPECT_FALSE(card.reasons.empty());
    EXPECT_EQ(card.loo_log_density.size(), q.model().rows());
    EXPECT_TRUE(std::isfinite(card.evidence_lower) || q.model().latents.count > 1) << name_of(q.method());
    if (card.check->pareto_k < 0.5) {
      EXPECT_LT(card.evidence_lower, card.check->log_evidence + 4.0 * card.check->log_evidence_error);
    }
  }
}

TEST(Diagnose, GivesTransformsOfResponses) {
  // Of Gaussian sites by hand: refitting without the row.
  const Model model = linear_model("gaussian", 6, 2, 3);
  const TrustCard card = diagnose(infer(model, Exact{}));
  const LeaveOneOut left_out = infer(model, Exact{}).leave_one_out();
  const double variance = left_out.latent.variance(2) + 0.3;
  const double z = (model.sites[0]->responses()(2) - left_out.latent.mean(2)) / std::sqrt(variance);
  EXPECT_NEAR(card.loo_pit(2), 0.5 * std::erfc(-z / std::sqrt(2.0)), 1e-10);
  // Signs: half the probability of what was seen is below it.
  const TrustCard signs = diagnose(infer(all_successes(), Ep{}));
  for (Index n = 0; n < 4; ++n) EXPECT_NEAR(signs.loo_pit(n), 1.0 - 0.5 * std::exp(signs.loo_log_density(n)), 1e-12);
}

TEST(Diagnose, RefusesTooFewDraws) {
  const Posterior q = infer(all_successes(), Laplace{});
  EXPECT_THROW((void)diagnose(q, {.draws = 99}), InvalidOption);
  EXPECT_THROW((void)diagnose(q, {.draws = 4000, .most_draws = 1000}), InvalidOption);
}

TEST(Diagnose, CanBeStopped) {
  const Posterior q = infer(two_groups(), Laplace{});
  gaussmith::Run run;
  int calls = 0;
  run.progress = [&](const Iteration&) { return ++calls, Next::accept; };
  EXPECT_EQ(diagnose(q, {.advice = false}, run).check->draws, 4000);
  EXPECT_EQ(calls, 2);  // Once in the search for modes, once after the first draws.
  run.progress = [](const Iteration&) { return Next::discard; };
  EXPECT_THROW((void)diagnose(q, {}, run), Interrupted);
}

TEST(QuickChecks, SeeShiftsSkewnessAndOutvotedRows) {
  const Posterior q = infer(all_successes(), Laplace{});
  const QuickChecks checks = quick_checks(q);
  // d3 log sigma / d eta3 = -s(1 - s)(1 - 2 s), by hand at the worst row.
  ASSERT_TRUE(checks.skewness && checks.mean_shift);
  const double eta = q.latent().mean(checks.skewness_row);
  const double s = 1.0 / (1.0 + std::exp(-eta));
  EXPECT_NEAR(*checks.skewness,
              -s * (1.0 - s) * (1.0 - 2.0 * s) * std::pow(q.latent().variance(checks.skewness_row), 1.5), 1e-10);
  EXPECT_EQ(checks.outvoted.size(), 0U);
  // Rows with kinks beside them have no say in it.
  Model mixed = all_successes();
  mixed.design = Matrix((Matrix(6, 2) << 1, 0.5, 1, -1, 1, 2, 1, 0.3, 1, 0, 0, 1).finished());
  mixed.sites = {observe("laplace", (Vector(2) << 0.2, 1.0).finished(), {{"scale", one(0.6)}}),
                 observe("bernoulli-logit", Vector::Ones(4))};
  const Posterior kinks = infer(mixed, Ep{});
  const QuickChecks some = quick_checks(kinks);
  ASSERT_TRUE(some.skewness);
  EXPECT_GE(some.skewness_row, 2);
  const double at = 1.0 / (1.0 + std::exp(-kinks.latent().mean(some.skewness_row)));
  EXPECT_NEAR(*some.skewness,
              -at * (1.0 - at) * (1.0 - 2.0 * at) * std::pow(kinks.latent().variance(some.skewness_row), 1.5), 1e-10);
  mixed.sites = {observe("laplace", Vector(Vector::LinSpaced(6, -1.0, 1.0)), {{"scale", one(0.6)}})};
  EXPECT_FALSE(quick_checks(infer(mixed, Ep{})).skewness);
  EXPECT_NEAR(std::abs(*checks.mean_shift), diagnose(q).second_order->mean_shift.lpNorm<Eigen::Infinity>(), 1e-9);
  const Model outlier{.prior = Isotropic{Vector::Zero(1), 4.0},
                      .design = Matrix(Matrix::Ones(4, 1)),
                      .offset = {},
                      .sites = {observe("student-t", (Vector(4) << 0.1, 5.0, 0.0, -0.1).finished(),
                                        {{"nu", one(3)}, {"scale", one(0.3)}})}};
  EXPECT_EQ(quick_checks(infer(outlier, Ep{})).outvoted, std::vector<Index>{1});
}

}  // namespace
}  // namespace gaussmith
