#include "trust/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

/// A fit of one row, and draws that agree with it but for what is given.
struct Case {
  double evidence = 0.0, evidence_error = 0.01;
  double mean = 0.0, mean_error = 0.01;
  double sd_ratio = 1.0, sd_error = 0.01;  // The fit's sd over that of the draws.
  double k = 0.2, effective = 3000.0;
};

Judgement judged(const Case& c, const Circumstances& circumstances = {.log_concave = true, .modes_known = true},
                 bool converged = true, bool substituted = false) {
  FitClaims claims;
  claims.converged = converged;
  claims.substituted = substituted;
  claims.latent_mean = Vector::Constant(1, 1.0 + 2.0 * c.mean);
  claims.latent_sd = Vector::Constant(1, 2.0 * c.sd_ratio);
  ImportanceEstimate estimate;
  estimate.draws = 4000;
  estimate.pareto_k = c.k;
  estimate.effective = c.effective;
  estimate.log_evidence = c.evidence;
  estimate.evidence_error = c.evidence_error;
  estimate.latent = {Vector::Constant(1, 1.0), Vector::Constant(1, 2.0), Vector::Constant(1, c.mean_error),
                     Vector::Constant(1, c.sd_error)};
  return judge(claims, estimate, circumstances);
}

TEST(Verdict, TrustsWhatIsWithinTheLimitsWithThreeErrorsToSpare) {
  EXPECT_EQ(judged({}).both(), Verdict::trust);
  EXPECT_EQ(judged({.evidence = 0.66}).evidence, Verdict::trust);
  EXPECT_EQ(judged({.evidence = 0.68}).evidence, Verdict::caution);
  EXPECT_EQ(judged({.evidence = -0.68}).evidence, Verdict::caution);
  EXPECT_EQ(judged({.mean = 0.46}).marginals, Verdict::trust);
  EXPECT_EQ(judged({.mean = -0.48}).marginals, Verdict::caution);
  EXPECT_EQ(judged({.mean = 0.1, .mean_error = 0.14}).marginals, Verdict::caution);
  EXPECT_EQ(judged({.sd_ratio = std::exp(-0.18)}).marginals, Verdict::trust);
  EXPECT_EQ(judged({.sd_ratio = std::exp(-0.20)}).marginals, Verdict::caution);
  EXPECT_EQ(judged({.sd_ratio = std::exp(0.16)}).marginals, Verdict::caution);
  EXPECT_EQ(judged({.sd_ratio = std::exp(0.14)}).marginals, Verdict::trust);
}

TEST(Verdict, DistrustsWhatIsBeyondThemByThreeErrors) {
  EXPECT_EQ(judged({.evidence = 1.02}).evidence, Verdict::caution);
  EXPECT_EQ(judged({.evidence = -1.04}).evidence, Verdict::do_not_trust);
  EXPECT_EQ(judged({.mean = 0.54}).marginals, Verdict::do_not_trust);
  EXPECT_EQ(judged({.sd_ratio = 0.7}).marginals, Verdict::do_not_trust);
  EXPECT_EQ(judged({.mean = 0.54}).evidence, Verdict::trust) << "each of the two has its own";
  EXPECT_EQ(judged({.mean = 0.54}).both(), Verdict::do_not_trust);
}

TEST(Verdict, DoesNotListenToDrawsWithHeavyTails) {
  EXPECT_EQ(judged({.k = 0.6}).both(), Verdict::caution);
  EXPECT_EQ(judged({.evidence = 3.0, .k = 0.6}).both(), Verdict::do_not_trust);
  EXPECT_EQ(judged({.evidence = 3.0, .k = 0.8}).both(), Verdict::caution);
}

TEST(Verdict, CondemnsNothingByAHandfulOfDraws) {
  // 100 draws worth 14 put an sd at half of the fit's, give or take 0.1 by their own reckoning.
  const Case few{.evidence = 2.0, .evidence_error = 0.3, .sd_ratio = 2.0, .sd_error = 0.1, .effective = 14.0};
  EXPECT_EQ(judged(few).both(), Verdict::caution);
  Case enough = few;
  enough.effective = 60.0;
  EXPECT_EQ(judged(enough).evidence, Verdict::do_not_trust);
  EXPECT_EQ(judged(enough).marginals, Verdict::do_not_trust);
}

TEST(Verdict, FurtherBoundsNeverInvertTheInterval) {
  TrustCard card;
  card.evidence_lower = -3.0;
  raise_interval(-2.5, card);
  EXPECT_EQ(card.evidence_lower, -2.5);
  EXPECT_FALSE(card.evidence_upper);
  card.evidence_upper = -2.0;
  raise_interval(-2.7, card);
  EXPECT_EQ(card.evidence_lower, -2.5);
  EXPECT_EQ(*card.evidence_upper, -2.0);
  raise_interval(-1.5, card);
  EXPECT_EQ(card.evidence_lower, -1.5);
  EXPECT_EQ(*card.evidence_upper, -1.5);
}

TEST(Verdict, DistrustsAnEvidenceBelowABoundWhateverTheDrawsAreWorth) {
  // By Markov's inequality no average of weights is e^6.9 times the evidence more often than once in a thousand.
  EXPECT_EQ(judged({.evidence = 7.8, .k = 1.5}).evidence, Verdict::caution);
  const Judgement far = judged({.evidence = 8.0, .k = 1.5});
  EXPECT_EQ(far.evidence, Verdict::do_not_trust);
  EXPECT_EQ(far.marginals, Verdict::caution);
  EXPECT_NE(far.evidence_reason.find("at least 1.1 nats too low"), std::string::npos) << far.evidence_reason;
  EXPECT_EQ(judged({.evidence = -20.0, .k = 1.5}).evidence, Verdict::caution) << "averages may well be too low";
  Circumstances at{.log_concave = true, .modes_known = true};
  at.evidence_bound = 1.05;
  EXPECT_EQ(judged({.k = 1.5}, at).evidence, Verdict::do_not_trust);
  at.evidence_bound = 0.95;
  EXPECT_EQ(judged({.k = 1.5}, at).evidence, Verdict::caution);
}

TEST(Verdict, NamesRowAndLatentOfSeveral) {
  FitClaims claims;
  claims.converged = true;
  claims.width = 3;
  claims.latent_mean = Vector::Zero(6);
  claims.latent_sd = Vector::Ones(6);
  ImportanceEstimate estimate;
  estimate.draws = 4000;
  estimate.latent = {Vector::Zero(6), Vector::Ones(6), Vector::Constant(6, 0.01), Vector::Constant(6, 0.01)};
  estimate.latent.mean(5) = 0.3;
  const Judgement found = judge(claims, estimate, {.log_concave = true, .modes_known = true});
  EXPECT_EQ(found.check.mean_place, "row 1, latent 2");
}

TEST(Verdict, HoldsBackWhereMoreThanNumbersIsAtStake) {
  EXPECT_EQ(judged({}, {.log_concave = true, .modes_known = true}, false).both(), Verdict::do_not_trust);
  EXPECT_EQ(judged({}, {.log_concave = true, .modes_known = true}, true, true).both(), Verdict::caution);
  EXPECT_EQ(judged({}, {.modes_known = false}).both(), Verdict::caution);
  EXPECT_EQ(judged({}, {.modes_known = true, .unexplained = 0.3}).both(), Verdict::caution);
  EXPECT_EQ(judged({}, {.modes_known = true, .unexplained = 0.2}).both(), Verdict::trust);
  // Sparsity sites beside few data: it is said, and no more.
  EXPECT_EQ(judged({}, {.modes_known = true, .unexplained = 0.6, .few_rows = true}).both(), Verdict::trust);
  EXPECT_NE(judged({}, {.modes_known = true, .unexplained = 0.6, .few_rows = true}).further.find("60 %"),
            std::string::npos);
  EXPECT_EQ(judged({}, {.modes_known = true, .unexplained = 0.4, .few_rows = true}).further, "");
}

TEST(Verdict, FallsBackOnSecondOrderPastTheReachOfTheDraws) {
  SecondOrder small;
  small.evidence = 0.1;
  small.mean_shift = Vector::Constant(1, 0.2);
  small.variance_shift = Vector::Constant(1, 0.3);
  SecondOrder large = small;
  large.variance_shift(0) = 0.6;
  const Case noisy{.mean_error = 0.2, .effective = 500.0};
  Circumstances at{.log_concave = true, .modes_known = true, .next = &small, .last_round = true};
  EXPECT_EQ(judged(noisy, at).both(), Verdict::trust);
  at.next = &large;
  EXPECT_EQ(judged(noisy, at).marginals, Verdict::caution);
  at.next = &small;
  at.last_round = false;
  EXPECT_EQ(judged(noisy, at).both(), Verdict::caution);
  at.last_round = true;
  at.log_concave = false;
  EXPECT_EQ(judged(noisy, at).both(), Verdict::caution);
  EXPECT_NE(judged(noisy, at).further.find("not log-concave"), std::string::npos);
  // What is decided stays.
  at.log_concave = true;
  EXPECT_EQ(judged({.mean = 2.0, .mean_error = 0.2, .effective = 500.0}, at).marginals, Verdict::do_not_trust);
}

}  // namespace
}  // namespace gaussmith
