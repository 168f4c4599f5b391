// Gaussian-KL inference with constrained covariances as `infer` gives it: the posterior's parts against dense algebra
// on the covariance it says it has, the choice of `auto`, and what is refused.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

namespace gaussmith {
namespace {

constexpr std::array constrained{"diagonal", "banded:2", "chevron:2", "subspace:2", "factor:2"};

/// V of w written out from the plain data.
Matrix weight_covariance(const FittedGaussian& fitted, const Matrix& prior_covariance) {
  const CovarianceRoot& c = fitted.covariance;
  const Matrix root = c.root;
  Matrix v = root.transpose() * root;
  if (c.complement.size() > 0)
    v += c.scale * c.scale * (Matrix::Identity(v.rows(), v.cols()) - c.complement.transpose() * c.complement);
  if (!c.whitened) return v;
  // Only for diagonal priors: R is the square root of the variances.
  const Vector scale = prior_covariance.diagonal().cwiseSqrt();
  return scale.asDiagonal() * v * scale.asDiagonal();
}

double largest_difference(const Matrix& a, const Matrix& b) { return (a - b).cwiseAbs().maxCoeff(); }

/// A process over points on a line, as a dense prior whose entries can be changed.
Model smooth_classes(Index rows, double lengthscale) {
  Matrix inputs(rows, 1);
  Vector y(rows);
  for (Index i = 0; i < rows; ++i) {
    inputs(i, 0) = static_cast<double>(i) * 6.0 / static_cast<double>(rows);
    y(i) = std::sin(2.0 * inputs(i, 0)) > 0.2 ? 1.0 : -1.0;
  }
  Matrix covariance;
  make_kernel("matern32", {{"lengthscale", {lengthscale}}})->gram(inputs, covariance);
  return {.prior = DenseGaussian{Vector::Zero(rows), covariance}, .sites = {observe("bernoulli-logit", y)}};
}

// The last bits of the prior are as good as any others: what they change must be within what the fit says.
TEST(KlFamily, RoundingOfThePriorIsWithinItsEstimate) {
  for (const double lengthscale : {0.3, 3.0, 30.0}) {
    SCOPED_TRACE(lengthscale);
    const Model model = smooth_classes(80, lengthscale);
    Model changed = model;
    Matrix covariance = *std::get<DenseGaussian>(model.prior).covariance;
    const Matrix noise = testing::random_matrix(80, 80, 5);
    for (Index j = 0; j < 80; ++j)
      for (Index i = j; i < 80; ++i) covariance(i, j) = covariance(j, i) *= 1.0 + (noise(i, j) > 0.0 ? 2e-16 : -2e-16);
    std::get<DenseGaussian>(changed.prior).covariance = covariance;
    const Posterior a = infer(model, Kl{.covariance = "chevron:3"});
    const Posterior b = infer(changed, Kl{.covariance = "chevron:3"});
    ASSERT_TRUE(a.report().converged()) << a.report().message;
    const double difference = std::abs(a.log_evidence().value - b.log_evidence().value);
    EXPECT_LT(difference, 2.0 * a.log_evidence().numerical_error + 1e-12);
    EXPECT_LT(a.log_evidence().numerical_error, 1e4 * difference + 1e-7);
    EXPECT_LT(((a.latent().variance - b.latent().variance).array() / a.latent().variance.array()).abs().maxCoeff(),
              4.0 * a.report().variance_error + 1e-8);
  }
  const Posterior rough = infer(smooth_classes(80, 3000.0), Kl{.covariance = "chevron:3"});
  EXPECT_EQ(rough.report().status, Status::inaccurate) << rough.report().variance_error;
}

TEST(KlFamily, EveryPartOfThePosteriorIsThatOfItsCovariance) {
  Model model = testing::linear_model("bernoulli-logit", 12, 5, 3);
  model.prior = Diagonal{testing::random_vector(5, 8), Vector::LinSpaced(5, 0.5, 2.0)};
  const auto& h = *model.design.entries().dense;
  const Matrix fresh = testing::random_matrix(4, 5, 9);
  for (const char* family : constrained) {
    SCOPED_TRACE(family);
    const Posterior q = infer(model, Kl{.covariance = family});
    EXPECT_TRUE(q.report().converged()) << q.report().message;
    EXPECT_EQ(q.log_evidence().kind, EvidenceKind::lower_bound);
    ASSERT_EQ(q.report().notes.size(), 1U);
    EXPECT_NE(q.report().notes[0].find("no duality gap"), std::string::npos) << q.report().notes[0];
    const Matrix v = weight_covariance(q.fitted(), std::get<Diagonal>(model.prior).variance.asDiagonal());
    const Marginals weights = q.weights();
    EXPECT_LT(largest_difference(weights.variance, v.diagonal()), 1e-12);
    EXPECT_LT(largest_difference(q.latent().mean, h * weights.mean + model.offset), 1e-10);
    const Matrix joint = h * v * h.transpose();
    EXPECT_LT(largest_difference(q.latent().variance, joint.diagonal()), 1e-10);
    const Matrix chosen = q.latent_covariance({7, 2});
    EXPECT_NEAR(chosen(0, 1), joint(7, 2), 1e-10);
    EXPECT_NEAR(chosen(1, 1), joint(2, 2), 1e-10);
    const Prediction prediction = q.predict(PredictionPoints{.design = fresh});
    EXPECT_LT(largest_difference(prediction.latent_mean(), fresh * weights.mean), 1e-10);
    EXPECT_LT(largest_difference(prediction.latent_variance(), (fresh * v * fresh.transpose()).diagonal()), 1e-10);
    const Prediction again = Predictor(q.fitted()).predict({.design = fresh});
    EXPECT_LT(largest_difference(prediction.latent_variance(), again.latent_variance()), 1e-14);

    constexpr int draws = 20000;
    Matrix w = q.sample_weights(draws, 4);
    w.colwise() -= weights.mean;
    const Matrix sampled = w * w.transpose() / draws;
    EXPECT_LT(largest_difference(sampled, v), 0.05 * v.diagonal().maxCoeff());

    // Without its own site a row's marginal has precision 1/v - tau and shift m/v - nu.
    const LeaveOneOut loo = q.leave_one_out();
    const SiteApproximation& sites = q.site_approximation();
    for (Index n = 0; n < model.rows(); ++n) {
      const double precision = 1.0 / q.latent().variance(n) - sites.precision(n);
      if (precision <= 0.0) {
        EXPECT_TRUE(std::isnan(loo.log_density(n))) << n;
        continue;
      }
      EXPECT_NEAR(loo.latent.variance(n) * precision, 1.0, 1e-9);
      const double shift = q.latent().mean(n) / q.latent().variance(n) - sites.shift(n);
      EXPECT_NEAR(loo.latent.mean(n), shift / precision, 1e-9 * (1 + std::abs(shift / precision)));
      EXPECT_TRUE(std::isfinite(loo.log_density(n)));
    }
  }
}

TEST(KlFamily, ProcessesPredictAtNewInputsByTheDenseFormula) {
  Model model = testing::process_model("poisson", 8, 2);
  auto& process = std::get<GaussianProcess>(model.prior);
  // Apart, so that K can be inverted here.
  process.inputs = 3.0 * testing::random_matrix(8, 2, 12);
  const Matrix fresh = testing::random_matrix(3, 2, 13);
  Matrix k;
  Matrix cross;
  Matrix corner;
  process.kernel->gram(process.inputs, k);
  process.kernel->block(process.inputs, fresh, cross);
  process.kernel->gram(fresh, corner);
  for (const char* family : {"diagonal", "banded:3", "chevron:3", "factor:1"}) {
    SCOPED_TRACE(family);
    const Posterior q = infer(model, Kl{.covariance = family});
    ASSERT_TRUE(q.report().converged()) << q.report().message;
    const Matrix root = q.fitted().covariance.root;
    const Matrix v = root.transpose() * root;
    const Matrix gain = testing::dense_solve(k, cross);
    const Prediction at = q.predict(fresh);
    const Vector mean = gain.transpose() * (q.weights().mean.array() - process.mean).matrix();
    EXPECT_LT(largest_difference(at.latent_mean(), (mean.array() + process.mean).matrix()), 1e-8);
    const Matrix variance = corner - gain.transpose() * (k - v) * gain;
    EXPECT_LT(largest_difference(at.latent_variance(), variance.diagonal()), 1e-8);
  }
}

TEST(KlFamily, FullCovarianceGivesLeaveOneOut) {
  Model model = testing::linear_model("gaussian", 9, 3, 5);
  const LeaveOneOut kl = infer(model, Kl{.covariance = "full"}).leave_one_out();
  const LeaveOneOut exact = infer(model, Exact{}).leave_one_out();
  EXPECT_LT(largest_difference(kl.log_density, exact.log_density), 1e-7);
  EXPECT_LT(largest_difference(kl.latent.variance, exact.latent.variance), 1e-7);
}

TEST(KlFamily, AutoTakesFullWhereItFitsAndLessWhereItDoesNot) {
  Model model = testing::linear_model("bernoulli-logit", 800, 300, 6);
  model.design = SparseMatrix(testing::random_matrix(800, 300, 7).sparseView(1.0, 2.0));
  const auto fit = [&](double memory) { return infer(model, Kl{.memory = memory, .tolerance = 1e-4}).report(); };
  const auto note = [&](double memory) { return fit(memory).notes.at(0); };
  EXPECT_NE(note(0.0).find("auto: full"), std::string::npos) << note(0.0);
  EXPECT_NE(note(0.005).find("auto: chevron:50, because full would need"), std::string::npos) << note(0.005);
  // The widest that fits: one more row is refused.
  const std::string narrower = note(0.0015);
  const auto at = narrower.find("auto: chevron:");
  ASSERT_NE(at, std::string::npos) << narrower;
  const int size = std::stoi(narrower.substr(at + 14));
  EXPECT_LT(size, 50);
  EXPECT_THROW((void)infer(model, Kl{.covariance = fmt::format("chevron:{}", size + 1), .memory = 0.0015}),
               InvalidOption);
  EXPECT_NE(note(0.0004).find("auto: diagonal"), std::string::npos) << note(0.0004);
  EXPECT_THROW((void)fit(0.0001), InvalidOption);
  EXPECT_THROW((void)infer(model, Kl{.covariance = "full", .memory = 0.005}), InvalidOption);
  EXPECT_THROW((void)infer(model, Kl{.covariance = "chevron:300", .memory = 0.005}), InvalidOption);
}

TEST(KlFamily, WhatDoesNotSuitTheModelIsRefused) {
  const Model model = testing::linear_model("bernoulli-logit", 12, 5, 3);
  for (const char* family : {"banded:6", "chevron:6", "factor:6", "subspace:6", "banded:-1", "chevron:", "banded:1.5",
                             "sparse:/nowhere/pattern", "diagonal:1", "full:2", ""})
    EXPECT_THROW((void)infer(model, Kl{.covariance = family}), InvalidOption) << family;
  EXPECT_THROW((void)infer(model, Kl{.covariance = "diagonal"}, {.form = CoreForm::precision}), InvalidOption);
  // The same point twice: K is singular, and zeros can stand in the whitened basis only.
  Model process = testing::process_model("poisson", 6, 2);
  auto& inputs = std::get<GaussianProcess>(process.prior).inputs;
  inputs = testing::with_row(inputs, 1, inputs->row(0));
  EXPECT_THROW((void)infer(process, Kl{.covariance = "diagonal"}), InvalidOption);
  const Posterior q = infer(process, Kl{.covariance = "diagonal", .basis = Basis::whitened});
  EXPECT_TRUE(q.report().converged());
  EXPECT_LT(q.log_evidence().value, infer(process, Kl{}).log_evidence().value + 1e-9);
}

TEST(KlFamily, SubspaceGradientsMatchRefitsThatChooseTheirBasis) {
  for (const unsigned seed : {1U, 2U}) {
    Model model = testing::linear_model("bernoulli-logit", 40, 8, seed);
    const auto bound = [&](double log_variance) {
      model.prior = Isotropic{Vector::Zero(8), std::exp(log_variance)};
      return infer(model, Kl{.covariance = "subspace:3"});
    };
    constexpr double step = 1e-3;
    const double difference =
        (bound(0.3 + step).log_evidence().value - bound(0.3 - step).log_evidence().value) / (2 * step);
    EXPECT_NEAR(bound(0.3).gradient().at("prior.variance"), difference, 1e-5 * (1 + std::abs(difference)));
  }
}

TEST(KlFamily, SingularPriorsHaveNoPatternOfAllWeights) {
  Model process = testing::process_model("poisson", 6, 2);
  auto& inputs = std::get<GaussianProcess>(process.prior).inputs;
  inputs = testing::with_row(inputs, 1, inputs->row(0));
  const std::string file = ::testing::TempDir() + "gaussmith_pattern_of_six.txt";
  {
    std::ofstream out(file);
    for (int i = 0; i < 6; ++i) out << i << ' ' << i << '\n';
    out << "0 5\n";
  }
  EXPECT_THROW((void)infer(process, Kl{.covariance = "sparse:" + file, .basis = Basis::whitened}), InvalidOption);
}

TEST(KlFamily, WeightsThatNoRowSeesAreRefusedWithoutAGaussianFactor) {
  Matrix twice(3, 2);
  twice << 1.0, 1.0, 1.0, 1.0, 2.0, 2.0;
  Matrix unseen(3, 2);
  unseen << 1.0, 0.0, 1.0, 0.0, 2.0, 0.0;
  for (const Matrix& rows : {twice, unseen})
    for (const Design& design : {Design(rows), Design(SparseMatrix(rows.sparseView()))})
      for (const char* family : {"full", "diagonal", "banded:1", "chevron:2", "subspace:2", "factor:1"}) {
        const Model model{.prior = NoGaussian{2},
                          .design = design,
                          .offset = {},
                          .sites = {observe("laplace", Vector::Ones(3), {{"scale", Vector::Ones(1)}})}};
        EXPECT_THROW((void)infer(model, Kl{.covariance = family}), InvalidModel) << family;
      }
}

TEST(KlFamily, CertificatesHoldAtFreshMoments) {
  // Sites so narrow that steps shrink by many orders: moments carried along from step to step drift away.
  Matrix rows(2, 2);
  rows << 1.0, 0.0, 1.0, 1.0;
  const Model model{.prior = Isotropic{Vector::Zero(2), 1.0},
                    .design = rows,
                    .offset = {},
                    .sites = {observe("laplace", Eigen::Vector2d(1.0, -1.0), {{"scale", Vector::Constant(1, 1e-4)}})}};
  const double full = infer(model, Kl{.covariance = "full"}).log_evidence().value;
  for (const char* family : {"banded:1", "chevron:2", "subspace:2"}) {
    const Posterior q = infer(model, Kl{.covariance = family});
    EXPECT_NEAR(q.report().history.back().objective, q.log_evidence().value, 1e-9) << family;
    EXPECT_TRUE(q.report().converged()) << family;
    EXPECT_NEAR(q.log_evidence().value, full, 1e-7) << family;
  }
}

TEST(KlFamily, PatternsFromFilesEqualTheFamiliesTheySpell) {
  const Model model = testing::linear_model("poisson", 10, 4, 3);
  const auto file = std::filesystem::temp_directory_path() / "gaussmith_kl_family_test_pattern.txt";
  std::ofstream(file) << "# a band\n0 0\n0 1\n1 1\n1 2\n2 2\n2 3\n3 3\n";
  const Posterior sparse = infer(model, Kl{.covariance = "sparse:" + file.string()});
  const Posterior band = infer(model, Kl{.covariance = "banded:1"});
  EXPECT_NEAR(sparse.log_evidence().value, band.log_evidence().value, 1e-10);
  EXPECT_LT(largest_difference(sparse.weights().variance, band.weights().variance), 1e-8);
  std::filesystem::remove(file);
}

/// The model of the next evaluation of learning: a prior half as wide again.
Model wider(const Model& model) {
  Model out = model;
  std::get<Isotropic>(out.prior).variance *= 1.5;
  return out;
}

TEST(KlFamily, WarmStartsReachTheColdOptimumSooner) {
  Model large = testing::linear_model("bernoulli-logit", 500, 300, 6);
  large.design = SparseMatrix(testing::random_matrix(500, 300, 7).sparseView(1.0, 2.0));
  const Model small = testing::linear_model("poisson", 40, 8, 4);
  // Above 256 weights steps are matrix-free.
  for (const Model* before : {&small, &std::as_const(large)}) {
    const Model after = wider(*before);
    const Posterior laplace = infer(*before, Laplace{});
    for (const char* family : {"diagonal", "banded:2", "chevron:2", "subspace:2"}) {
      SCOPED_TRACE(std::string(family) + (before == &small ? " small" : " large"));
      const Kl method{.covariance = family};
      const Posterior earlier = infer(*before, method);
      const Posterior cold = infer(after, method);
      const Posterior warm = infer(after, method, {.warm_start = &earlier});
      ASSERT_TRUE(cold.report().converged() && warm.report().converged());
      EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-7);
      EXPECT_LT(warm.report().iterations, cold.report().iterations);
      EXPECT_LT(largest_difference(warm.weights().mean, cold.weights().mean), 1e-6);
      // A posterior of another method, or of another family, is a start too.
      const Posterior other = infer(after, method, {.warm_start = &laplace});
      EXPECT_NEAR(other.log_evidence().value, cold.log_evidence().value, 1e-7);
      // Nothing is remembered.
      EXPECT_EQ(infer(after, method).log_evidence().value, cold.log_evidence().value);
    }
    // A diagonal root is a band, and a band of two one of four.
    const Posterior narrow = infer(after, Kl{.covariance = "banded:2"});
    const Posterior wide = infer(after, Kl{.covariance = "banded:4"});
    const Posterior widened = infer(after, Kl{.covariance = "banded:4"}, {.warm_start = &narrow});
    EXPECT_NEAR(widened.log_evidence().value, wide.log_evidence().value, 1e-7);
    EXPECT_GE(widened.report().history.front().objective, narrow.log_evidence().value - 1e-9);
  }
}

TEST(KlFamily, WarmStartsWithOtherWeightsLendTheirSitesAlone) {
  const Model model = testing::linear_model("bernoulli-logit", 12, 5, 3);
  const Posterior other = infer(testing::linear_model("bernoulli-logit", 12, 4, 3), Kl{.covariance = "diagonal"});
  for (const char* family : constrained) {
    SCOPED_TRACE(family);
    const Posterior cold = infer(model, Kl{.covariance = family});
    const Posterior warm = infer(model, Kl{.covariance = family}, {.warm_start = &other});
    EXPECT_GE(warm.log_evidence().value, cold.log_evidence().value - 1e-7);
  }
}

TEST(KlFamily, WarmStartsTakeThePlaceOfTheFirstOfSeveral) {
  // A Student-t likelihood with two groups of responses: several optima.
  Model model = testing::linear_model("student-t", 30, 4, 5);
  for (const char* family : {"chevron:1", "factor:2"}) {
    SCOPED_TRACE(family);
    const Kl method{.covariance = family};
    const Posterior cold = infer(model, method);
    EXPECT_EQ(cold.report().message.find("warm"), std::string::npos);
    const Posterior warm = infer(model, method, {.warm_start = &cold});
    EXPECT_NE(warm.report().message.find("best of 6 starts, the first of them warm"), std::string::npos)
        << warm.report().message;
    EXPECT_NE(warm.report().message.find("may be local"), std::string::npos) << warm.report().message;
    EXPECT_TRUE(warm.report().local_optimum);
    // Begun at an optimum, no start can end below it.
    EXPECT_GE(warm.log_evidence().value, cold.log_evidence().value - 1e-9);
    EXPECT_LT(warm.report().iterations, cold.report().iterations);
  }
}

TEST(KlFamily, SitesWithWallsAreRefused) {
  Model model = testing::linear_model("poisson", 6, 3, 3);
  CustomLikelihood wall;
  wall.log_density = [](double eta, double) { return eta > 0.0 ? -eta : -std::numeric_limits<double>::infinity(); };
  model.sites = {observe(wall, Vector::Zero(6))};
  for (const char* family : {"diagonal", "chevron:1"}) try {
      (void)infer(model, Kl{.covariance = family});
      ADD_FAILURE() << family;
    } catch (const InvalidModel& error) {
      EXPECT_NE(std::string(error.what()).find("unbounded support"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace gaussmith
