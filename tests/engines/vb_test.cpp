// Local variational bounds against the formula of the bound written down anew, differences, and other methods.

#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/random.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <variant>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

std::vector<std::string> super_gaussian_likelihoods() {
  std::vector<std::string> names;
  for (const LikelihoodInfo& info : likelihood_catalogue())
    if (info.traits.super_gaussian) names.push_back(info.traits.name);
  return names;
}

/// log Z of N(0, variance I) times prod exp(beta s - tau s^2 / 2) plus sum g(xi^2) + tau xi^2 / 2, s = h'w + offset -
/// centre: the bound for any xi, with explicit inverses and determinants.
double bound_at(const Model& model, double variance, const Vector& xi) {
  const Matrix& h = *model.design.entries().dense;
  const SiteBlock& block = *model.sites.front();
  const Index n = xi.size();
  Vector x = xi.cwiseAbs2();
  Vector value(n), first(n), slope(n), centre(n);
  block.bound(0, ConstSpan(x.data(), static_cast<std::size_t>(n)), {view(value), view(first), {}});
  block.bound_shape(0, view(slope), view(centre));
  const Vector tau = -2.0 * first;
  const Vector away = (model.offset.size() > 0 ? model.offset : Vector(Vector::Zero(n))) - centre;
  const Index d = h.cols();
  const Matrix a = Matrix(h.transpose() * tau.asDiagonal() * h) + Matrix::Identity(d, d) / variance;
  const Vector b = h.transpose() * (slope - tau.cwiseProduct(away));
  const double constant = slope.dot(away) - 0.5 * tau.dot(away.cwiseAbs2());
  const double log_z = constant + 0.5 * b.dot(dense_inverse(a) * b) - 0.5 * std::log(dense_determinant(a)) -
                       0.5 * static_cast<double>(d) * std::log(variance);
  return log_z + value.sum() + 0.5 * tau.dot(x);
}

TEST(Vb, IsTheBoundAtItsOwnTangentsAndNoOtherTangentIsBetter) {
  for (const std::string& name : super_gaussian_likelihoods()) {
    SCOPED_TRACE(name);
    Model model = linear_model(name, 9, 3, 5);
    model.prior = Isotropic{Vector::Zero(3), 1.7};
    const Posterior q = infer(model, Vb{.tolerance = 1e-10});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    Vector slope(9), centre(9);
    model.sites.front()->bound_shape(0, view(slope), view(centre));
    const Vector xi = ((q.latent().mean - centre).cwiseAbs2() + q.latent().variance).cwiseSqrt();
    const double best = bound_at(model, 1.7, xi);
    EXPECT_NEAR(q.log_evidence().value, best, 1e-10 * (1 + std::abs(best)));
    for (Index n = 0; n < 9; ++n)
      for (const double factor : {0.97, 1.03}) {
        Vector other = xi;
        other(n) *= factor;
        EXPECT_LE(bound_at(model, 1.7, other), best + 1e-12 * (1 + std::abs(best))) << n;
      }
  }
}

TEST(Vb, LiesBelowKlAndBothBelowTheEvidence) {
  for (const std::string& name : super_gaussian_likelihoods()) {
    SCOPED_TRACE(name);
    const Model model = process_model(name, 12, 7);
    const double vb = infer(model, Vb{}).log_evidence().value;
    const double kl = infer(model, Kl{}).log_evidence().value;
    EXPECT_LE(vb, kl + 1e-9 * (1 + std::abs(kl)));
    const EvidenceKind kind = infer(model, Vb{}).log_evidence().kind;
    EXPECT_EQ(kind, name == "gaussian" ? EvidenceKind::exact : EvidenceKind::lower_bound);
  }
  // One logit site under N(0, 1): the evidence is 1/2 by symmetry.
  Model one{.prior = Isotropic{Vector::Zero(1), 1.0}, .sites = {observe("bernoulli-logit", Vector::Ones(1))}};
  const double vb = infer(one, Vb{}).log_evidence().value;
  EXPECT_LT(vb, std::log(0.5));
  EXPECT_GT(vb, std::log(0.5) - 0.02);
}

TEST(Vb, ObjectiveNeverFalls) {
  for (const std::string& name : super_gaussian_likelihoods()) {
    const Posterior q = infer(process_model(name, 20, 3), Vb{.starts = 1});
    const auto& history = q.report().history;
    ASSERT_FALSE(history.empty());
    for (std::size_t i = 1; i < history.size(); ++i)
      EXPECT_GE(history[i].objective, history[i - 1].objective - 1e-11 * (1 + std::abs(history[i].objective)));
  }
}

TEST(Vb, SeparableClassesUnderAWidePriorConverge) {
  // Tangents at |eta| of a hundred are far wider than the curvature of the sites there.
  Model model = linear_model("bernoulli-logit", 14, 2, 3);
  model.prior = Isotropic{Vector::Zero(2), 1e4};
  const Matrix& h = *model.design.entries().dense;
  Vector y(14);
  for (Index n = 0; n < 14; ++n) y(n) = h(n, 0) - 2.0 * h(n, 1) > 0.0 ? 1.0 : -1.0;
  model.sites = {observe("bernoulli-logit", y)};
  const Posterior q = infer(model, Vb{});
  EXPECT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_GT(q.latent().mean.cwiseAbs().maxCoeff(), 30.0);
}

TEST(Vb, WarmStartsEndWhereColdOnesDo) {
  for (const char* likelihood : {"bernoulli-logit", "laplace", "negative-binomial"}) {
    SCOPED_TRACE(likelihood);
    const Vb method{.tolerance = 1e-10};
    const Model model = process_model(likelihood, 30, 5);
    Model other = model;
    std::get<GaussianProcess>(other.prior).kernel =
        make_kernel("se", {{"signal_sd", {2.0}}, {"lengthscale", {1.1, 1.1}}});
    const Posterior cold = infer(model, method);
    const Posterior start = infer(other, method);
    const Posterior warm = infer(model, method, {.warm_start = &start});
    ASSERT_TRUE(warm.report().converged()) << warm.report().brief();
    EXPECT_NEAR(warm.log_evidence().value, cold.log_evidence().value, 1e-9);
    EXPECT_LT((warm.latent().mean - cold.latent().mean).lpNorm<Eigen::Infinity>(), 1e-8);
    EXPECT_LT((warm.latent().variance - cold.latent().variance).lpNorm<Eigen::Infinity>(), 1e-8);
    EXPECT_LT(infer(model, method, {.warm_start = &cold}).report().iterations, cold.report().iterations);
  }
}

TEST(Vb, LeavingOutIsNearlyFittingAnew) {
  const Index rows = 40;
  const Model model = linear_model("bernoulli-logit", rows, 3, 4);
  const LeaveOneOut out = infer(model, Vb{}).leave_one_out();
  const double all = out.log_density.sum();
  double anew = 0.0;
  for (Index n = 0; n < rows; ++n) {
    Model without = model;
    without.weights = Vector::Ones(rows);
    without.weights(n) = 1e-12;  // Rows have to count for something.
    const Posterior q = infer(without, Vb{});
    // q changes by the tangents of the other rows alone, which move little.
    EXPECT_NEAR(out.latent.mean(n), q.latent().mean(n), 0.02) << n;
    EXPECT_NEAR(out.latent.variance(n), q.latent().variance(n), 0.02) << n;
    const double sign = model.sites[0]->responses()(n);
    // log E sigma(y eta) by a fine sum over the marginal.
    double mass = 0.0;
    double total = 0.0;
    for (double z = -8.0; z <= 8.0; z += 0.01) {
      const double eta = q.latent().mean(n) + z * std::sqrt(q.latent().variance(n));
      mass += std::exp(-0.5 * z * z) / (1.0 + std::exp(-sign * eta));
      total += std::exp(-0.5 * z * z);
    }
    anew += std::log(mass / total);
  }
  EXPECT_NEAR(all, anew, 0.002 * std::abs(anew));
}

TEST(Vb, RowsThatCountTwiceAreTwoRows) {
  Model once = process_model("student-t", 6, 4);
  Model twice = once;
  once.weights = Vector::Ones(6);
  once.weights(2) = 2.0;
  const Matrix inputs = *std::get<GaussianProcess>(once.prior).inputs;
  Matrix more(7, inputs.cols());
  more << inputs, inputs.row(2);
  std::get<GaussianProcess>(twice.prior).inputs = more;
  Vector y(7);
  y << once.sites.front()->responses(), once.sites.front()->responses()(2);
  twice.sites = {once.sites.front()->with(y, {})};
  if (twice.offset.size() > 0) {
    Vector offset(7);
    offset << once.offset, once.offset(2);
    twice.offset = offset;
  }
  EXPECT_NEAR(infer(once, Vb{}).log_evidence().value, infer(twice, Vb{}).log_evidence().value, 1e-8);
}

TEST(Vb, SelectedVariancesAreTheExactOnes) {
  const Model model = linear_model("bernoulli-logit", 12, 4, 5);
  const Posterior exact = infer(model, Vb{.variances = "exact"});
  const Posterior selected = infer(model, Vb{.variances = "selected"});
  EXPECT_NE(selected.report().core.find("sparse form"), std::string::npos);
  EXPECT_LT((exact.latent().variance - selected.latent().variance).lpNorm<Eigen::Infinity>(), 1e-8);
  EXPECT_THROW((void)infer(model, Vb{.variances = "some"}), InvalidOption);
  EXPECT_THROW((void)infer(model, Vb{.variances = "lanczos:0"}), InvalidOption);
  EXPECT_THROW((void)infer(model, Vb{.variances = "sampling"}), InvalidOption);
  EXPECT_THROW((void)infer(model, Vb{.variances = "probing:x"}), InvalidOption);
  EXPECT_THROW((void)infer(model, Vb{.variances = "sampling:9"}, {.form = CoreForm::precision}), InvalidOption);
  // A form that was asked for is never put aside.
  EXPECT_THROW((void)infer(model, Vb{.variances = "selected"}, {.form = CoreForm::precision}), InvalidOption);
  EXPECT_THROW((void)infer(model, Vb{.variances = "selected"}, {.form = CoreForm::covariance}), InvalidOption);
  EXPECT_EQ(infer(model, Vb{.variances = "selected"}, {.form = CoreForm::sparse}).log_evidence().value,
            selected.log_evidence().value);
}

/// Rows with a third of their entries, and under them the weights themselves with Laplace sites where the prior is
/// none.
Model sparse_model(Prior prior, Index rows, Index weights, std::uint64_t seed) {
  Random random(seed);
  const bool alone = !std::holds_alternative<Isotropic>(prior);
  SparseMatrix h(alone ? rows + weights : rows, weights);
  for (Index n = 0; n < rows; ++n)
    for (Index j = 0; j < weights; ++j)
      if (random.uniform() < 0.3) h.insert(n, j) = random.normal();
  for (Index n = rows; n < h.rows(); ++n) h.insert(n, n - rows) = 1.0;
  h.makeCompressed();
  Model model{.prior = std::move(prior), .design = h, .sites = {random_sites("bernoulli-logit", rows, seed)}};
  if (alone) model.sites.push_back(observe("laplace", Vector::Zero(weights), {{"scale", one(0.5)}}));
  return model;
}

TEST(Vb, TheMatrixFreeFormAgreesWithTheOthers) {
  for (const Prior& prior : {Prior(Isotropic{Vector::Zero(30), 2.0}), Prior(NoGaussian{30})}) {
    const Model model = sparse_model(prior, 50, 30, 3);
    const Posterior dense = infer(model, Vb{.variances = "exact"}, {.form = CoreForm::precision});
    const Posterior sparse = infer(model, Vb{.variances = "exact"}, {.form = CoreForm::sparse});
    const Posterior free = infer(model, Vb{.variances = "exact"}, {.form = CoreForm::matrix_free});
    for (const Posterior* other : {&sparse, &free}) {
      EXPECT_TRUE(other->report().converged()) << other->report().message;
      EXPECT_EQ(other->log_evidence().kind, EvidenceKind::lower_bound);
      EXPECT_NEAR(other->log_evidence().value, dense.log_evidence().value, 1e-8);
      EXPECT_LT((other->latent().mean - dense.latent().mean).lpNorm<Eigen::Infinity>(), 1e-7);
      EXPECT_LT((other->latent().variance - dense.latent().variance).lpNorm<Eigen::Infinity>(), 1e-8);
      EXPECT_LT((other->weights().variance - dense.weights().variance).lpNorm<Eigen::Infinity>(), 1e-8);
      for (const auto& [name, slope] : dense.gradient()) EXPECT_NEAR(other->gradient().at(name), slope, 1e-6) << name;
    }
  }
}

TEST(Vb, EstimatesKnowHowFarTheyAreFromTheExactOnes) {
  for (const Prior& prior : {Prior(Isotropic{Vector::Zero(40), 2.0}), Prior(NoGaussian{40})}) {
    const Model model = sparse_model(prior, 90, 40, 8);
    const Posterior exact = infer(model, Vb{.variances = "exact"});
    const auto error = [&](const Marginals& found, const Marginals& truth) {
      return std::sqrt(((found.variance - truth.variance).array() / truth.variance.array()).square().mean());
    };
    for (const char* variances : {"lanczos:40", "lanczos:10", "probing:64", "sampling:64"}) {
      const Posterior found = infer(model, Vb{.variances = variances}, {.seed = 4});
      SCOPED_TRACE(variances);
      EXPECT_TRUE(found.report().converged()) << found.report().message;
      EXPECT_GT(found.report().latent_estimate_error, 0.0);
      EXPECT_LT(error(found.latent(), exact.latent()), 1.2 * found.report().latent_estimate_error + 0.01);
      EXPECT_LT(error(found.weights(), exact.weights()), 1.2 * found.report().weights_estimate_error + 0.01);
      // A bound but for the error of the log-determinant.
      ASSERT_TRUE(found.log_evidence().standard_error.has_value());
      EXPECT_LT(found.log_evidence().value, exact.log_evidence().value + 4.0 * *found.log_evidence().standard_error);
      if (std::string(variances) != "lanczos:10") {
        EXPECT_GT(found.log_evidence().value,
                  exact.log_evidence().value - 4.0 * *found.log_evidence().standard_error - 0.5);
        const Vector shift =
            (found.latent().mean - exact.latent().mean).cwiseQuotient(exact.latent().variance.cwiseSqrt());
        EXPECT_LT(shift.lpNorm<Eigen::Infinity>(), 0.15);
      }
      // On the way the log-determinant is what it is at most.
      for (const Iteration& step : found.report().history) EXPECT_LT(step.objective, exact.log_evidence().value + 1e-6);
      // New rows see the same Gaussian, also when it was saved.
      const Prediction here = found.predict({.design = model.design});
      const Prediction saved = Predictor(found.fitted()).predict({.design = model.design});
      EXPECT_LT((here.latent_variance() - saved.latent_variance()).lpNorm<Eigen::Infinity>(), 1e-12);
      EXPECT_LT((here.latent_mean() - found.latent().mean).lpNorm<Eigen::Infinity>(), 1e-8);
    }
  }
}

/// The log-determinant of so few weights is exact, so that what is left is what tangents at other variances lose.
TEST(Vb, EvidenceOfEstimatedVariancesIsOfTheirKindAndKnowsWhatItLoses) {
  const Model model = sparse_model(Isotropic{Vector::Zero(40), 2.0}, 90, 40, 8);
  const Evidence exact = infer(model, Vb{.variances = "exact"}).log_evidence();
  EXPECT_EQ(exact.kind, EvidenceKind::lower_bound);
  EXPECT_FALSE(exact.standard_error.has_value());
  for (const auto& [variances, kind] :
       {std::pair{"lanczos:10", EvidenceKind::approximation}, std::pair{"sampling:8", EvidenceKind::estimate},
        std::pair{"sampling:64", EvidenceKind::estimate}, std::pair{"probing:8", EvidenceKind::estimate}}) {
    SCOPED_TRACE(variances);
    const Evidence found = infer(model, Vb{.variances = variances}).log_evidence();
    EXPECT_EQ(found.kind, kind);
    ASSERT_TRUE(found.standard_error.has_value());
    EXPECT_GT(*found.standard_error, 0.0);
    EXPECT_LE(found.value, exact.value + found.numerical_error);
    EXPECT_GT(found.value, exact.value - 4.0 * *found.standard_error - found.numerical_error);
  }
}

TEST(Vb, WarnsOfVariancesThatAreTooRoughToRestOn) {
  const Model model = sparse_model(Isotropic{Vector::Zero(40), 2.0}, 90, 40, 8);
  const auto warned = [&](const char* variances) {
    const std::vector<std::string> warnings = infer(model, Vb{.variances = variances}).report().warnings;
    return std::any_of(warnings.begin(), warnings.end(),
                       [](const std::string& line) { return line.starts_with("variances are estimates"); });
  };
  EXPECT_TRUE(warned("lanczos:10"));
  EXPECT_TRUE(warned("sampling:2"));
  EXPECT_FALSE(warned("lanczos:40"));
  EXPECT_FALSE(warned("sampling:64"));
  EXPECT_FALSE(warned("exact"));
}

TEST(Vb, EstimatesStandRowsWithoutEntriesAndGaussianSitesAlone) {
  SparseMatrix h(40, 20);
  Random random(9);
  for (Index n = 1; n < 40; ++n)
    for (Index j = 0; j < 20; ++j)
      if (random.uniform() < 0.3) h.insert(n, j) = random.normal();
  h.makeCompressed();
  const Prior prior = Isotropic{Vector::Zero(20), 2.0};
  for (const Sites& sites : {random_sites("bernoulli-logit", 40, 2), random_sites("gaussian", 40, 2)}) {
    const Model model{.prior = prior, .design = h, .sites = {sites}};
    const Posterior exact = infer(model, Vb{.variances = "exact"});
    for (const char* variances : {"sampling:200", "lanczos:20", "probing:64"}) {
      SCOPED_TRACE(variances);
      const Posterior found = infer(model, Vb{.variances = variances});
      EXPECT_TRUE(found.report().converged()) << found.report().message;
      EXPECT_EQ(found.latent().variance(0), 0.0);
      // The last variances are no draft.
      EXPECT_LT(found.report().weights_estimate_error, 0.5);
      EXPECT_LT((found.weights().variance.array() / exact.weights().variance.array() - 1.0).abs().mean(), 0.3);
      EXPECT_NEAR(found.log_evidence().value, exact.log_evidence().value, 0.1);
    }
  }
}

TEST(Vb, DrawsAndDeterminantsOfManyWeightsUnderAWidePriorKnowTheirErrors) {
  // More weights than rows: what the rows leave open has the prior's variance, which short solves would miss.
  const Index rows = 900;
  const Index weights = 1200;
  Random random(4);
  std::vector<Eigen::Triplet<double>> entries;
  for (Index n = 0; n < rows; ++n)
    for (int k = 0; k < 8; ++k)
      entries.emplace_back(static_cast<int>(n), static_cast<int>(random.uniform() * weights), random.normal());
  SparseMatrix h(rows, weights);
  h.setFromTriplets(entries.begin(), entries.end());
  const Model model{
      .prior = Isotropic{Vector::Zero(weights), 1e4}, .design = h, .sites = {random_sites("bernoulli-logit", rows, 6)}};
  for (const Method& method : {Method(Laplace{}), Method(Vb{.variances = "auto"})}) {
    SCOPED_TRACE(std::string(name_of(method)));
    const Posterior exact = infer(model, method, {.form = CoreForm::covariance});
    const Posterior found = infer(model, method, {.form = CoreForm::matrix_free});
    EXPECT_TRUE(found.report().converged()) << found.report().message;
    EXPECT_NE(found.report().core.find("factor over the"), std::string::npos) << found.report().core;
    // The factor over the rows knows the log-determinant: what is left is that of the method, for vb a bound at
    // tangents that are a little off.
    const double rounding = found.log_evidence().numerical_error + exact.log_evidence().numerical_error;
    EXPECT_LT(found.log_evidence().value, exact.log_evidence().value + rounding);
    if (std::holds_alternative<Laplace>(method)) {
      EXPECT_EQ(found.log_evidence().kind, EvidenceKind::approximation);
      EXPECT_FALSE(found.log_evidence().standard_error.has_value());
      EXPECT_GT(found.log_evidence().value, exact.log_evidence().value - rounding);
    } else {
      EXPECT_EQ(found.log_evidence().kind, EvidenceKind::estimate);
      EXPECT_LT(found.log_evidence().standard_error.value(), 0.5);
      EXPECT_GT(found.log_evidence().value, exact.log_evidence().value - 0.5);
    }
    const auto error = [](const Vector& a, const Vector& b) {
      return std::sqrt((a.array() / b.array() - 1.0).square().mean());
    };
    EXPECT_LT(error(found.weights().variance, exact.weights().variance), 1.3 * found.report().weights_estimate_error);
    EXPECT_LT(error(found.latent().variance, exact.latent().variance), 1.3 * found.report().latent_estimate_error);
  }
  EXPECT_THROW((void)infer(model, Ep{}, {.form = CoreForm::matrix_free}), InvalidOption);
  EXPECT_THROW((void)infer(model, Kl{}, {.form = CoreForm::matrix_free}), InvalidOption);
}

TEST(Vb, RefusesSitesWithoutTangents) {
  EXPECT_THROW((void)infer(process_model("bernoulli-probit", 5, 1), Vb{}), InvalidOption);
  EXPECT_THROW((void)infer(process_model("poisson", 5, 1), Vb{}), InvalidOption);
}

/// Student's t with four degrees of freedom by g and g' alone.
CustomLikelihood custom_student() {
  CustomLikelihood t;
  t.name = "my-t";
  t.centre = [](double y) { return y; };
  t.bound = [](double x, double) -> std::array<double, 2> {
    const double constant = std::lgamma(2.5) - std::lgamma(2.0) - 0.5 * std::log(4.0 * std::numbers::pi);
    return {constant - 2.5 * std::log1p(x / 4.0), -2.5 / (4.0 + x)};
  };
  return t;
}

TEST(Vb, TakesCustomSitesByGAndItsDerivative) {
  Model model = process_model("student-t", 10, 6);
  const Vector y = model.sites.front()->responses();
  model.sites = {observe("student-t", y, {{"nu", one(4.0)}, {"scale", one(1.0)}})};
  Model custom = model;
  custom.sites = {observe(custom_student(), y)};
  const Posterior a = infer(model, Vb{});
  const Posterior b = infer(custom, Vb{});
  EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value, 1e-8);
  EXPECT_LT((a.latent().mean - b.latent().mean).lpNorm<Eigen::Infinity>(), 1e-6);
}

TEST(Vb, RefusesCustomBoundsThatAreNone) {
  const Vector y = Vector::Ones(3);
  CustomLikelihood rising = custom_student();
  rising.bound = [](double x, double) -> std::array<double, 2> { return {0.1 * x, 0.1}; };
  EXPECT_THROW((void)observe(rising, y), InvalidModel);
  CustomLikelihood concave = custom_student();
  concave.bound = [](double x, double) -> std::array<double, 2> { return {-x * x, -2.0 * x}; };
  EXPECT_THROW((void)observe(concave, y), InvalidModel);
  CustomLikelihood other = custom_student();
  other.log_density = [](double eta, double y_n) { return -std::abs(eta - y_n); };
  EXPECT_THROW((void)observe(other, y), InvalidModel);
}

}  // namespace
}  // namespace gaussmith
