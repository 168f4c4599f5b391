#include "gaussmith/scores.hpp"

#include "gaussmith/errors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

Prediction predicted(const Vector& mean, const Vector& variance, Sites likelihood) {
  return {Marginals{mean, variance}, std::move(likelihood)};
}

TEST(Scores, ClassesByHand) {
  const Vector mean{{2.0, -0.3, 0.4, -3.0}};
  const Vector variance{{0.5, 1.0, 0.2, 0.1}};
  const Vector y{{1.0, 1.0, -1.0, -1.0}};
  const Scores scores = score(predicted(mean, variance, observe("bernoulli-probit", y)), y);
  double brier = 0.0;
  double density = 0.0;
  for (Index n = 0; n < 4; ++n) {
    const double p = normal_cdf(mean[n] / std::sqrt(1.0 + variance[n]));
    brier += std::pow(p - (y[n] > 0.0 ? 1.0 : 0.0), 2) / 4.0;
    density += std::log(y[n] > 0.0 ? p : 1.0 - p) / 4.0;
  }
  EXPECT_EQ(scores.rows, 4);
  EXPECT_EQ(scores.errors, 2);
  EXPECT_DOUBLE_EQ(*scores.error_rate(), 0.5);
  EXPECT_NEAR(*scores.brier, brier, 1e-12);
  EXPECT_NEAR(scores.mean_log_density, density, 1e-9);
  EXPECT_FALSE(scores.rmse || scores.mae);
  ASSERT_EQ(scores.reliability.size(), 10U);
  Index rows = 0;
  for (const ReliabilityBin& bin : scores.reliability) rows += bin.count;
  EXPECT_EQ(rows, 4);
}

TEST(Scores, NumbersByHand) {
  const Vector mean{{0.0, 1.0, 2.0}};
  const Vector variance{{0.75, 0.75, 0.75}};
  const Vector y{{0.1, 1.0, 5.0}};
  const Scores scores = score(predicted(mean, variance, observe("gaussian", y, {{"variance", one(0.25)}})), y);
  EXPECT_NEAR(*scores.rmse, std::sqrt((0.01 + 9.0) / 3.0), 1e-14);
  EXPECT_NEAR(*scores.mae, 3.1 / 3.0, 1e-14);
  EXPECT_NEAR(*scores.mean_variance, 1.0, 1e-14);
  EXPECT_NEAR(scores.mean_log_density, -0.5 * std::log(2.0 * std::numbers::pi) - 0.5 * (0.01 + 9.0) / 3.0, 1e-12);
  ASSERT_EQ(scores.coverage.size(), 3U);
  for (const Coverage& interval : scores.coverage) EXPECT_NEAR(interval.share, 2.0 / 3.0, 1e-15) << interval.level;
  EXPECT_FALSE(scores.errors || scores.error_rate());
}

TEST(Scores, WithoutAMeanTheMedianIsScored) {
  const Vector y{{0.1, 3.0}};
  const Vector mean{{0.0, 1.0}};
  const Scores scores = score(predicted(mean, Vector{{0.1, 0.1}}, observe("cauchy", y, {{"scale", one(0.3)}})), y);
  EXPECT_TRUE(scores.median_used);
  EXPECT_FALSE(scores.rmse || scores.mean_variance);
  EXPECT_NEAR(*scores.mae, 0.5 * (0.1 + 2.0), 1e-6);
}

TEST(Scores, CensoredRowsCountForTheDensityAlone) {
  const Vector y{{1.5, 2.5, 0.7}};
  const Vector mean{{0.1, 0.2, 0.3}};
  const Vector variance{{0.2, 0.2, 0.2}};
  const Sites some = observe("exponential", y, {{"censored", Vector{{0.0, 1.0, 0.0}}}});
  const Scores scores = score(predicted(mean, variance, some), y);
  EXPECT_EQ(scores.rows, 3);
  EXPECT_EQ(scores.censored, 1);
  const auto error = [&](Index n) { return std::abs(y[n] - std::exp(mean[n] + 0.5 * variance[n])); };
  EXPECT_NEAR(*scores.mae, 0.5 * (error(0) + error(2)), 1e-12);
  const Scores none = score(predicted(mean, variance, observe("exponential", y)), y);
  EXPECT_EQ(none.censored, 0);
  EXPECT_NEAR(*none.mae, (error(0) + error(1) + error(2)) / 3.0, 1e-12);
  const Scores all = score(predicted(mean, variance, observe("exponential", y, {{"censored", one(1.0)}})), y);
  EXPECT_EQ(all.censored, 3);
  EXPECT_FALSE(all.mae);
}

TEST(Scores, NeedALikelihood) {
  const Prediction latent({Vector{{0.0}}, Vector{{1.0}}}, nullptr, "trials are needed");
  EXPECT_THROW((void)score(latent, Vector{{1.0}}), InvalidModel);
}

TEST(RowTotals, SumAndItsStandardError) {
  const RowTotal total = row_total(Vector{{1.0, 2.0, std::nan(""), 6.0}});
  EXPECT_EQ(total.rows, 3);
  EXPECT_EQ(total.total, 9.0);
  EXPECT_NEAR(*total.standard_error, std::sqrt(3.0 * 7.0), 1e-14);  // Variance (4 + 1 + 9) / 2.
  EXPECT_FALSE(row_total(Vector{{1.0}}).standard_error);
  EXPECT_EQ(row_total({}).total, 0.0);
}

TEST(Scores, SeveralClassesByHand) {
  // Without latent variance the probabilities are the softmax of the means.
  const Vector p{{0.7, 0.2, 0.1, 0.3, 0.3, 0.4, 0.25, 0.5, 0.25}};
  const Vector y{{0.0, 1.0, 1.0}};
  const Sites sites = observe("multinomial-logit", y, {{"classes", one(3.0)}});
  const Prediction prediction({p.array().log(), Vector::Zero(9), Vector::Zero(27)}, sites);
  Scores scores = score(prediction, y, {.tolerance = 1e-9});
  EXPECT_EQ(scores.rows, 3);
  EXPECT_EQ(scores.errors, 1);
  EXPECT_NEAR(scores.mean_log_density, (std::log(0.7) + std::log(0.3) + std::log(0.5)) / 3.0, 1e-7);
  const double brier = 0.3 * 0.3 + 0.2 * 0.2 + 0.1 * 0.1 + 0.3 * 0.3 + 0.7 * 0.7 + 0.4 * 0.4 + 2.0 * 0.25 * 0.25 + 0.25;
  EXPECT_NEAR(*scores.brier, brier / 3.0, 1e-7);
  // Winning classes: 0.7 right, 0.4 wrong, 0.5 right, in bins of their own.
  EXPECT_NEAR(*scores.calibration_error, (0.3 + 0.4 + 0.5) / 3.0, 1e-7);
  EXPECT_EQ(scores.confusion, Matrix({{1.0, 0.0, 0.0}, {0.0, 1.0, 1.0}, {0.0, 0.0, 0.0}}));
  EXPECT_FALSE(scores.mean_log_density_lower || scores.mean_variance);
  // With no variance the bound is the log probability itself.
  add_class_bounds(prediction, y, scores);
  EXPECT_NEAR(*scores.mean_log_density_lower, scores.mean_log_density, 1e-7);
  EXPECT_NEAR(*scores.mean_log_probability_at_mean, scores.mean_log_density, 1e-7);
}

}  // namespace
}  // namespace gaussmith
