#include "trust/second_order.hpp"

#include "gaussmith/infer.hpp"
#include "support/models.hpp"
#include "support/plane_truth.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace gaussmith {
namespace {

using namespace gaussmith::testing;

SecondOrder of(const Posterior& q) { return second_order(q.state(), posterior_root(q.state())); }

/// Few rows of two weights under a wide prior: skewed, log-concave.
Model skewed_plane(const std::string& likelihood, std::uint64_t seed) {
  const Index rows = 2 + static_cast<Index>(seed % 4);
  Model model{.prior = Isotropic{Vector::Zero(2), 2.0 + static_cast<double>(seed % 3)},
              .design = Matrix(random_matrix(rows, 2, 100 + seed)),
              .offset = {},
              .sites = {random_sites(likelihood, rows, 200 + seed)}};
  return model;
}

const std::vector<std::string> log_concave{"bernoulli-logit", "bernoulli-probit", "poisson", "exponential"};

struct Errors {
  double before = 0.0, after = 0.0;
  int count = 0;
};

Errors evidence_errors(const Method& method, double largest) {
  Errors errors;
  for (const std::string& likelihood : log_concave)
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      const Model model = skewed_plane(likelihood, seed);
      const PlaneTruth truth = plane_truth(model, 161);
      const Posterior q = infer(model, method);
      const double predicted = of(q).evidence;
      if (std::abs(predicted) > largest) continue;
      errors.before += std::abs(truth.log_evidence - q.log_evidence().value);
      errors.after += std::abs(truth.log_evidence - q.log_evidence().value - predicted);
      ++errors.count;
    }
  return errors;
}

TEST(SecondOrder, CorrectsTheEvidenceOfEpFivefold) {
  const Errors errors = evidence_errors(Ep{}, 1e9);
  EXPECT_EQ(errors.count, 24);
  EXPECT_LT(5.0 * errors.after, errors.before) << errors.before / errors.count << " -> " << errors.after / errors.count;
}

TEST(SecondOrder, CorrectsTheEvidenceOfLaplaceThreefoldWhereSmall) {
  const Errors errors = evidence_errors(Laplace{}, 0.3);
  EXPECT_GE(errors.count, 18);
  EXPECT_LT(3.0 * errors.after, errors.before) << errors.before / errors.count << " -> " << errors.after / errors.count;
}

TEST(SecondOrder, TellsHowLooseTheBoundOfKlIs) {
  const Errors errors = evidence_errors(Kl{}, 0.3);
  EXPECT_GE(errors.count, 18);
  EXPECT_LT(2.0 * errors.after, errors.before) << errors.before / errors.count << " -> " << errors.after / errors.count;
}

TEST(SecondOrder, SeesWhereMeansAndDeviationsOfLaplaceAreOff) {
  // Little data, but not so little that a next order would be no answer: the shifts agree with the truth to second
  // order, which here is a fifth of the largest.
  for (const std::string& likelihood : log_concave) {
    Model model = skewed_plane(likelihood, 3);
    model.prior = Isotropic{Vector::Zero(2), 0.4};
    const PlaneTruth truth = plane_truth(model, 161);
    const Posterior q = infer(model, Laplace{});
    const SecondOrder next = of(q);
    const Vector sd = q.latent().variance.cwiseSqrt();
    const Vector mean = (truth.rows_mean - q.latent().mean).cwiseQuotient(sd);
    const Vector variance = truth.rows_sd.array().square() / q.latent().variance.array() - 1.0;
    EXPECT_LT((next.mean_shift - mean).lpNorm<Eigen::Infinity>(), 0.2 * mean.lpNorm<Eigen::Infinity>() + 1e-3)
        << likelihood << " " << next.mean_shift.transpose() << " / " << mean.transpose();
    EXPECT_LT((next.variance_shift - variance).lpNorm<Eigen::Infinity>(),
              0.3 * variance.lpNorm<Eigen::Infinity>() + 5e-3)
        << likelihood << " " << next.variance_shift.transpose() << " / " << variance.transpose();
    // The weights in their own coordinates.
    const Vector weights_sd = q.weights().variance.cwiseSqrt();
    const Vector weights = (truth.weights_mean - q.weights().mean).cwiseQuotient(weights_sd);
    EXPECT_LT((next.weights_mean_shift - weights).lpNorm<Eigen::Infinity>(),
              0.2 * weights.lpNorm<Eigen::Infinity>() + 1e-3);
    EXPECT_NEAR(laplace_mean_shift(q.state(), posterior_root(q.state()))(0), next.mean_shift(0), 1e-12);
  }
}

TEST(SecondOrder, SeesWhereDeviationsOfEpAreOff) {
  double predicted = 0.0;
  double true_shift = 0.0;
  double product = 0.0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Model model = skewed_plane("poisson", seed);
    const PlaneTruth truth = plane_truth(model, 161);
    const Posterior q = infer(model, Ep{});
    const SecondOrder next = of(q);
    const Vector variance = truth.rows_sd.array().square() / q.latent().variance.array() - 1.0;
    predicted += next.variance_shift.squaredNorm();
    true_shift += variance.squaredNorm();
    product += next.variance_shift.dot(variance);
  }
  EXPECT_GT(product / std::sqrt(predicted * true_shift), 0.9);
}

TEST(SecondOrder, OfGaussianSitesIsZero) {
  for (const Method& method : {Method(Laplace{}), Method(Ep{}), Method(Kl{})})
    for (const Model& model :
         {process_model("gaussian", 12, 3), linear_model("gaussian", 20, 3, 4), linear_model("gaussian", 4, 9, 5)}) {
      const SecondOrder next = of(infer(model, method));
      EXPECT_LT(std::abs(next.evidence), 1e-10) << name_of(method);
      EXPECT_LT(next.mean_shift.lpNorm<Eigen::Infinity>(), 1e-10) << name_of(method);
      EXPECT_LT(next.variance_shift.lpNorm<Eigen::Infinity>(), 1e-10) << name_of(method);
      EXPECT_LT(next.share.lpNorm<Eigen::Infinity>(), 1e-10) << name_of(method);
    }
}

TEST(SecondOrder, CountsARowOfWeightThreeAsThreeRows) {
  Model once = linear_model("poisson", 4, 2, 8);
  once.weights = (Vector(4) << 1, 3, 1, 2).finished();
  const auto& y = once.sites[0]->responses();
  Matrix design(7, 2);
  Vector responses(7);
  Vector exposure(7);
  Vector offset(7);
  const Matrix rows = once.design.times(Matrix(Matrix::Identity(2, 2)));
  Index next = 0;
  for (Index n = 0; n < 4; ++n)
    for (int k = 0; k < static_cast<int>(once.weights(n)); ++k, ++next) {
      design.row(next) = rows.row(n);
      responses(next) = y(n);
      exposure(next) = once.sites[0]->parameters()[0].values(n);
      offset(next) = once.offset(n);
    }
  Model apart = once;
  apart.weights = {};
  apart.design = design;
  apart.offset = offset;
  apart.sites = {observe("poisson", responses, {{"exposure", exposure}})};
  for (const Method& method : {Method(Laplace{}), Method(Ep{}), Method(Kl{})}) {
    const SecondOrder a = of(infer(once, method));
    const SecondOrder b = of(infer(apart, method));
    EXPECT_NEAR(a.evidence, b.evidence, 1e-7) << name_of(method);
    EXPECT_NEAR(a.weights_mean_shift(0), b.weights_mean_shift(0), 1e-7) << name_of(method);
    EXPECT_NEAR(a.weights_variance_shift(1), b.weights_variance_shift(1), 1e-7) << name_of(method);
  }
}

TEST(SecondOrder, IsTheSameInEveryFormOfTheCore) {
  const Model model = process_model("bernoulli-logit", 15, 2);
  for (const Method& method : {Method(Laplace{}), Method(Ep{}), Method(Kl{})}) {
    const SecondOrder a = of(infer(model, method, {.form = CoreForm::covariance}));
    const SecondOrder b = of(infer(model, method, {.form = CoreForm::precision}));
    EXPECT_NEAR(a.evidence, b.evidence, 1e-6) << name_of(method);
    EXPECT_LT((a.variance_shift - b.variance_shift).norm(), 1e-5) << name_of(method);
  }
}

TEST(SecondOrder, SaysWhereThereIsNone) {
  EXPECT_EQ(why_no_second_order(infer(linear_model("poisson", 6, 2, 1), Ep{}).state()), "");
  Kl diagonal;
  diagonal.covariance = "diagonal";
  EXPECT_NE(why_no_second_order(infer(linear_model("poisson", 6, 2, 1), diagonal).state()), "");
  EXPECT_NE(why_no_second_order(infer(linear_model("student-t", 6, 2, 1), Vb{}).state()), "");
}

}  // namespace
}  // namespace gaussmith
