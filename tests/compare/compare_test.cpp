// Samplers as methods, the comparison of methods and calibration by simulation.

#include "gaussmith/compare.hpp"

#include "gaussmith/calibrate.hpp"
#include "gaussmith/errors.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

using testing::linear_model;
using testing::process_model;

const Method samplers[] = {ImportanceSampling{}, AnnealedImportance{.draws = 400, .temperatures = 60},
                           EllipticalSlices{.draws = 2000, .warmup = 100}, NoUTurn{.draws = 2000, .warmup = 200}};

/// Two independent ways to the same moments agree within their errors; both are worth some hundred draws.
void expect_near_truth(const Posterior& found, const Truth& truth) {
  const double worth = std::min(1000.0, found.report().diagnostics->bulk_ess.value_or(100.0));
  const Marginals weights = found.weights();
  for (Index i = 0; i < truth.weights.mean.size(); ++i) {
    const double sd = std::sqrt(truth.weights.variance(i));
    EXPECT_NEAR(weights.mean(i), truth.weights.mean(i), 5.0 * sd / std::sqrt(worth)) << name_of(found.method());
    EXPECT_NEAR(std::sqrt(weights.variance(i)) / sd, 1.0, 5.0 / std::sqrt(worth)) << name_of(found.method());
  }
}

TEST(Samplers, AgreeWithQuadratureInTwoDimensions) {
  const Model model = linear_model("bernoulli-logit", 12, 2, 5);
  const auto truth = find_truth(model);
  ASSERT_TRUE(truth.has_value());
  EXPECT_EQ(truth->method, "quadrature");
  for (const Method& method : samplers) {
    const Posterior found = infer(model, method, {.threads = 1, .seed = 3});
    EXPECT_TRUE(found.report().converged()) << found.report().brief();
    EXPECT_EQ(found.log_evidence().kind, EvidenceKind::estimate);
    if (std::isfinite(found.log_evidence().value)) {
      EXPECT_LT(std::abs(found.log_evidence().value - truth->log_evidence), 4.0 * *found.log_evidence().standard_error);
    }
    expect_near_truth(found, *truth);
  }
}

/// Rows around each of two weight vectors, under Student-t noise that lets either be the truth.
Model two_planted() {
  const Vector x = Vector::LinSpaced(5, -1.0, 1.0);
  const Vector noise = (Vector(10) << 0.1, 0.0, 0.0, -0.1, 0.1, 0.1, -0.1, 0.0, -0.1, 0.1).finished();
  Matrix rows(10, 2);
  Vector y(10);
  for (Index i = 0; i < 10; ++i) {
    rows.row(i) << 1.0, x(i % 5);
    y(i) = (i < 5 ? -1.0 - 2.0 * x(i) : 1.0 + 2.0 * x(i - 5)) + noise(i);
  }
  return {.prior = Isotropic{Vector::Zero(2), 4.0},
          .design = rows,
          .sites = {observe("student-t", y, {{"nu", one(2)}, {"scale", one(0.1)}})}};
}

TEST(Samplers, ImportanceSamplingFindsModesThatItsFitMisses) {
  const Model model = two_planted();
  const auto truth = find_truth(model);
  ASSERT_TRUE(truth.has_value());
  ASSERT_EQ(truth->method, "quadrature");
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const Posterior found = infer(model, ImportanceSampling{}, {.seed = seed});
    EXPECT_TRUE(found.report().converged()) << found.report().brief();
    EXPECT_LT(std::abs(found.log_evidence().value - truth->log_evidence), 4.0 * *found.log_evidence().standard_error);
    expect_near_truth(found, *truth);
  }
}

TEST(Samplers, EllipticalSlicesReachOtherModesThroughThePrior) {
  const Model model = two_planted();
  const auto truth = find_truth(model);
  ASSERT_TRUE(truth.has_value());
  const Posterior found = infer(model, EllipticalSlices{}, {.seed = 3});
  EXPECT_TRUE(found.report().converged()) << found.report().brief();
  expect_near_truth(found, *truth);
}

TEST(Samplers, SayThatModesWereNotSearchedFor) {
  Model model = linear_model("student-t", 12, 2, 5);
  EXPECT_TRUE(infer(model, ImportanceSampling{}).report().warnings.empty());
  CustomLikelihood cap;
  cap.name = "capped";
  cap.log_density = [](double eta, double y) { return -std::min(2.0, std::abs(eta - y)); };
  model.sites = {observe(cap, Vector(Vector::LinSpaced(12, -1.0, 1.0)))};
  const Posterior found = infer(model, ImportanceSampling{});
  ASSERT_FALSE(found.report().warnings.empty());
  EXPECT_NE(found.report().warnings.back().find("not searched for: sites have kinks"), std::string::npos);
}

TEST(Samplers, TheSearchForModesListensToTheCaller) {
  const Model model = two_planted();
  const auto at_first_search = [](Next answer) {
    return gaussmith::Run{.progress = [answer](const Iteration& step) {
      return step.step == "search for modes" ? answer : Next::proceed;
    }};
  };
  EXPECT_THROW(static_cast<void>(infer(model, ImportanceSampling{}, at_first_search(Next::discard))), Interrupted);
  EXPECT_NO_THROW(static_cast<void>(infer(model, ImportanceSampling{}, at_first_search(Next::accept))));
}

TEST(Compare, LeavesOutRowsOfDataAlone) {
  const Model model = linear_model("laplace", 12, 2, 5);
  const CompareOptions options{.methods = {Ep{}}, .truth = false, .verdicts = false, .data_rows = 7};
  const Comparison found = compare(model, options);
  const LeaveOneOut left_out = infer(model, Ep{}).leave_one_out();
  EXPECT_EQ(found.methods[0].loo_pit.size(), 7);
  EXPECT_DOUBLE_EQ(*found.methods[0].log_density, left_out.log_density.head(7).mean());
}

TEST(Samplers, GaussianPosteriorsAreWithinFourStandardErrors) {
  // Means, variances and evidence of 300 runs against the closed form; one in a hundred may be beyond.
  const Method quick[] = {ImportanceSampling{.draws = 1000},
                          AnnealedImportance{.draws = 200, .temperatures = 40, .start = AnnealingStart::prior},
                          EllipticalSlices{.draws = 1000, .warmup = 100}, NoUTurn{.draws = 1000, .warmup = 150}};
  int beyond = 0;
  for (std::uint64_t seed = 1; seed <= 75; ++seed) {
    const Model model =
        linear_model("gaussian", 4 + static_cast<Index>(seed % 5), 1 + static_cast<Index>(seed % 3), seed);
    const Posterior exact = infer(model, Exact{});
    const Marginals truth = exact.weights();
    for (const Method& method : quick) {
      const Posterior found = infer(model, method, {.seed = seed});
      const SamplingDiagnostics& worth = *found.report().diagnostics;
      const double draws = std::min(worth.bulk_ess.value_or(1e9), worth.tail_ess.value_or(1e9));
      double most = 0.0;
      if (const auto& error = found.log_evidence().standard_error; error && std::isfinite(found.log_evidence().value))
        most = std::abs(found.log_evidence().value - exact.log_evidence().value) / *error;
      const Marginals weights = found.weights();
      for (Index i = 0; i < truth.mean.size(); ++i) {
        const double variance = truth.variance(i);
        most = std::max(most, std::abs(weights.mean(i) - truth.mean(i)) / std::sqrt(variance / draws));
        most = std::max(most, std::abs(weights.variance(i) / variance - 1.0) / std::sqrt(2.0 / draws));
      }
      if (!(most <= 4.0)) ++beyond;
    }
  }
  EXPECT_LE(beyond, 3);
}

TEST(Samplers, AProcessPredictsNewInputsAsExactInferenceDoes) {
  const Model model = process_model("gaussian", 12, 3);
  const Matrix inputs = testing::random_matrix(5, 2, 9);
  const Prediction exact = infer(model, Exact{}).predict(inputs);
  for (const Method& method : samplers) {
    const Prediction found = infer(model, method, {.seed = 1}).predict(inputs);
    for (Index i = 0; i < 5; ++i) {
      // 400 draws predict.
      EXPECT_NEAR(found.latent_mean()(i), exact.latent_mean()(i), 0.3 * std::sqrt(exact.latent_variance()(i)));
      EXPECT_NEAR(found.latent_variance()(i) / exact.latent_variance()(i), 1.0, 0.35);
    }
  }
}

TEST(Samplers, LeaveOneOutAgreesWithLeavingRowsOut) {
  const Model model = linear_model("gaussian", 10, 2, 4);
  const LeaveOneOut exact = infer(model, Exact{}).leave_one_out();
  const LeaveOneOut found = infer(model, ImportanceSampling{.draws = 20000}, {.seed = 2}).leave_one_out();
  for (Index n = 0; n < 10; ++n) EXPECT_NEAR(found.log_density(n), exact.log_density(n), 0.12) << n;
}

TEST(Samplers, SeveralLatentsARow) {
  Model model{.prior = GaussianProcess{testing::random_matrix(9, 1, 3),
                                       make_kernel("se", {{"signal_sd", {1.5}}, {"lengthscale", {1.0}}}), 0.0},
              .sites = {}};
  Vector labels(9);
  for (Index i = 0; i < 9; ++i) labels(i) = static_cast<double>(i % 3);
  model.sites = {observe("multinomial-logit", labels, {{"classes", one(3)}})};
  model.latents.count = 3;
  const Posterior bound = infer(model, Kl{});
  const Posterior is = infer(model, ImportanceSampling{.draws = 20000}, {.seed = 4});
  EXPECT_TRUE(is.report().converged()) << is.report().brief();
  EXPECT_GT(is.log_evidence().value + 4.0 * *is.log_evidence().standard_error, bound.log_evidence().value);
  EXPECT_LT(is.log_evidence().value, bound.log_evidence().value + 0.5);
  const Posterior ess = infer(model, EllipticalSlices{.draws = 4000, .warmup = 200}, {.seed = 4});
  for (Index i = 0; i < 27; ++i) {
    EXPECT_NEAR(ess.latent().mean(i), is.latent().mean(i), 0.25 * std::sqrt(is.latent().variance(i)));
    EXPECT_NEAR(ess.latent().variance(i) / is.latent().variance(i), 1.0, 0.3);
  }
  const ClassProbabilities probabilities = ess.predict(testing::random_matrix(2, 1, 8)).class_probabilities();
  EXPECT_NEAR(probabilities.probability.row(0).sum(), 1.0, 1e-3);
}

TEST(Samplers, SameSeedSameBytesAtAnyNumberOfThreads) {
  const Model model = linear_model("student-t", 30, 4, 5);
  for (const Method& method : samplers) {
    const Posterior a = infer(model, method, {.threads = 1, .seed = 3});
    const Posterior b = infer(model, method, {.threads = 2, .seed = 3});
    EXPECT_EQ(a.latent().mean, b.latent().mean) << name_of(method);
    EXPECT_EQ(a.weights().variance, b.weights().variance) << name_of(method);
    if (std::isfinite(a.log_evidence().value)) {
      EXPECT_EQ(a.log_evidence().value, b.log_evidence().value);
    }
  }
}

TEST(Samplers, RefuseWhatTheyCannotDo) {
  Model model = linear_model("laplace", 12, 2, 5);
  EXPECT_THROW(static_cast<void>(infer(model, ImportanceSampling{.draws = 99})), InvalidOption);
  EXPECT_THROW(static_cast<void>(infer(model, NoUTurn{.draws = 50})), InvalidOption);
  model.prior = NoGaussian{2};
  EXPECT_THROW(static_cast<void>(infer(model, EllipticalSlices{})), InvalidOption);
  EXPECT_NO_THROW(static_cast<void>(infer(model, NoUTurn{.draws = 200, .chains = 2})));
}

TEST(Samplers, KeepWhatTheyHaveWhenStopped) {
  const Model model = linear_model("bernoulli-probit", 20, 3, 5);
  int told = 0;
  gaussmith::Run run;
  run.progress = [&](const Iteration& step) {
    if (step.step != "draws") return Next::proceed;
    return ++told > 2 ? Next::accept : Next::proceed;
  };
  const Posterior stopped = infer(model, NoUTurn{}, run);
  EXPECT_EQ(stopped.report().status, Status::stopped);
  EXPECT_EQ(stopped.report().iterations, 240);
  EXPECT_TRUE(stopped.latent().mean.allFinite());
}

TEST(Samplers, RowsOfWeightTwoAreTwoRows) {
  Model twice = linear_model("poisson", 8, 2, 5);
  Model weighted = twice;
  weighted.weights = Vector::Constant(8, 2.0);
  Matrix rows(16, 2);
  rows << twice.design.transposed_rows(0, 8).transpose(), twice.design.transposed_rows(0, 8).transpose();
  Vector y(16);
  y << twice.sites.front()->responses(), twice.sites.front()->responses();
  twice.design = rows;
  Vector offset(16);
  offset << weighted.offset, weighted.offset;
  twice.offset = offset;
  const Vector exposure = Vector::Constant(1, 1.5);
  twice.sites = {observe("poisson", y, {{"exposure", exposure}})};
  weighted.sites = {observe("poisson", Vector(y.head(8)), {{"exposure", exposure}})};
  const auto a = find_truth(weighted);
  const auto b = find_truth(twice);
  ASSERT_TRUE(a && b);
  EXPECT_NEAR(a->log_evidence, b->log_evidence, 1e-6);
}

TEST(Compare, BoundsLieBelowTheTruthAndEpIsNearest) {
  const Model model = linear_model("bernoulli-logit", 15, 2, 7);
  const Comparison found = compare(model, {.methods = {Laplace{}, Kl{}, Ep{}, Vb{}}});
  ASSERT_TRUE(found.truth.has_value());
  ASSERT_EQ(found.methods.size(), 4u);
  const double kl = found.methods[1].posterior.log_evidence().value;
  EXPECT_LE(kl, found.truth->log_evidence + found.truth->standard_error);
  EXPECT_DOUBLE_EQ(*found.best_bound, kl);
  EXPECT_NEAR(found.methods[3].error->log_evidence,
              found.methods[3].posterior.log_evidence().value - found.truth->log_evidence, 1e-12);
  EXPECT_LT(std::abs(found.methods[2].error->log_evidence), std::abs(found.methods[0].error->log_evidence));
  EXPECT_LT(found.methods[2].error->mean, found.methods[0].error->mean);
  EXPECT_NEAR(found.methods[2].error->sd_ratio, 1.0, 0.1);
  for (const ComparedMethod& line : found.methods) {
    EXPECT_TRUE(line.log_density.has_value());
    EXPECT_TRUE(line.card.has_value());
  }
}

TEST(Compare, TakesAllMethodsThatTakeTheModel) {
  const Model model = linear_model("gaussian", 10, 2, 7);
  const auto names = methods_for(model);
  EXPECT_EQ(names.front(), "exact");
  const Model kinks = linear_model("laplace", 10, 2, 7);
  const auto fewer = methods_for(kinks);
  EXPECT_EQ(std::count(fewer.begin(), fewer.end(), "laplace"), 0);
  EXPECT_THROW(static_cast<void>(compare(kinks, {.methods = {Laplace{}}})), InvalidOption);
  const auto truth = find_truth(model);
  ASSERT_TRUE(truth.has_value());
  EXPECT_EQ(truth->method, "exact");
}

TEST(Compare, TransformsOfResponsesAreThoseOfAllBlocksWithoutCensoredRows) {
  Model model = linear_model("weibull", 9, 2, 7);
  const Sites times = model.sites.front();
  model.design = testing::random_matrix(13, 2, 8);
  model.offset = {};
  model.sites = {times, testing::random_sites("poisson", 4, 9)};
  const Comparison found = compare(model, {.methods = {Ep{}, NoUTurn{.draws = 2000}}, .truth = false});
  for (const ComparedMethod& line : found.methods) {
    ASSERT_EQ(line.loo_pit.size(), 13) << line.name;
    for (Index n = 0; n < 13; ++n)
      EXPECT_EQ(std::isfinite(line.loo_pit(n)), n >= 9 || n % 3 != 0) << line.name << " row " << n;
  }
  // Two ways to the same transforms.
  for (Index n = 0; n < 13; ++n)
    if (std::isfinite(found.methods[0].loo_pit(n))) {
      EXPECT_NEAR(found.methods[0].loo_pit(n), found.methods[1].loo_pit(n), 0.08) << n;
    }
}

TEST(Compare, LeavesChainsOutWhereTheyWouldTakeManyTimesAsLongAsTheFits) {
  const Comparison found = compare(process_model("gaussian", 310, 3), {.truth = false, .verdicts = false});
  std::vector<std::string> names;
  names.reserve(found.methods.size());
  for (const ComparedMethod& line : found.methods) names.push_back(line.name);
  EXPECT_EQ(std::count(names.begin(), names.end(), "is"), 1);
  for (const char* slow : {"ais", "ess", "nuts"}) EXPECT_EQ(std::count(names.begin(), names.end(), slow), 0) << slow;
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_NE(found.notes[0].find("ais, ess, nuts; name them"), std::string::npos) << found.notes[0];
}

TEST(Compare, HeldOutRowsTakeTheirPlace) {
  const Model model = linear_model("gaussian", 10, 2, 7);
  const Matrix rows = testing::random_matrix(4, 2, 8);
  const Vector y = testing::random_vector(4, 9);
  const Comparison found =
      compare(model, {.methods = {Exact{}}, .truth = false, .held_out = HeldOut{{.design = Design(rows)}, y}});
  EXPECT_FALSE(found.truth.has_value());
  EXPECT_TRUE(found.held_out);
  EXPECT_NEAR(*found.methods[0].log_density,
              found.methods[0].posterior.predict({.design = Design(rows)}).log_density(y).mean(), 1e-12);
}

TEST(Calibrate, TheRankOfTheLogLikelihoodSeesWhatSingleWeightsDoNot) {
  // A process of sd 3 seen through ten signs: each has to be learned from few.
  Model model{.prior = GaussianProcess{testing::random_matrix(10, 1, 3),
                                       make_kernel("se", {{"signal_sd", {3.0}}, {"lengthscale", {1.0}}}), 0.0},
              .sites = {observe("bernoulli-logit", Vector::Ones(10))}};
  const CalibrationOptions options{.simulations = 300, .draws = 99, .weights = {0}};
  const Calibration ep = calibrate(model, Ep{}, options, {.threads = 2, .seed = 1});
  ASSERT_EQ(ep.quantities.size(), 2u);
  EXPECT_EQ(ep.quantities[1].ranks.size(), 300u);
  EXPECT_GT(ep.quantities[0].p_value, 1e-3);
  EXPECT_GT(ep.quantities[1].p_value, 1e-2);
  const Calibration same = calibrate(model, Ep{}, options, {.threads = 1, .seed = 1});
  EXPECT_EQ(ep.quantities[1].ranks, same.quantities[1].ranks);
  const Calibration laplace = calibrate(model, Laplace{}, options, {.threads = 2, .seed = 1});
  EXPECT_LT(laplace.quantities[1].p_value, 1e-3);
}

TEST(Calibrate, ExactInferenceIsCalibrated) {
  const Calibration exact =
      calibrate(linear_model("gaussian", 8, 3, 3), Exact{}, {.simulations = 400, .weights = {0, 2}}, {.seed = 3});
  for (const CalibratedQuantity& quantity : exact.quantities) EXPECT_GT(quantity.p_value, 1e-3) << quantity.name;
}

TEST(Calibrate, UniformityOfRanks) {
  std::vector<int> even;
  for (int i = 0; i < 400; ++i) even.push_back(i % 100);
  EXPECT_GT(uniformity(even, 99), 0.99);
  std::vector<int> low;
  for (int i = 0; i < 400; ++i) low.push_back(i % 50);
  EXPECT_LT(uniformity(low, 99), 1e-10);
}

TEST(Calibrate, RefusesCensoredRows) {
  const Vector flags = (Vector(6) << 0, 0, 1, 0, 1, 0).finished();
  Model model = linear_model("weibull", 6, 2, 3);
  const Vector y = model.sites.front()->responses();
  model.sites = {observe("weibull", Vector(y.head(2)), {{"shape", one(1.4)}}),
                 observe("weibull", Vector(y.tail(4)), {{"shape", one(1.4)}, {"censored", flags.tail(4)}})};
  try {
    static_cast<void>(calibrate(model, Ep{}));
    FAIL() << "censored rows were simulated";
  } catch (const InvalidOption& error) {
    EXPECT_NE(std::string(error.what()).find("row 2"), std::string::npos) << error.what();
  }
  model.sites = {observe("weibull", y, {{"shape", one(1.4)}})};
  EXPECT_NO_THROW(static_cast<void>(calibrate(model, Ep{}, {.simulations = 8})));
}

TEST(Calibrate, RefusesWhatCannotBeDrawn) {
  Model model = linear_model("laplace", 6, 2, 3);
  EXPECT_THROW(static_cast<void>(calibrate(model, Ep{}, {.weights = {2}})), InvalidOption);
  model.prior = NoGaussian{2};
  EXPECT_THROW(static_cast<void>(calibrate(model, Ep{})), InvalidOption);
}

}  // namespace
}  // namespace gaussmith
