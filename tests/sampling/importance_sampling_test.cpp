// Importance sampling against closed forms and grids that share no code with it.

#include "sampling/importance_sampling.hpp"

#include "numerics/special.hpp"
#include "sampling/pareto_smoothing.hpp"
#include "support/dense.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace gaussmith {
namespace {

using testing::linear_model;
using testing::process_model;
using testing::random_matrix;
using testing::random_vector;

/// The sites of a Gaussian model themselves.
SiteApproximation gaussian_sites(const Vector& y, double variance) {
  return {Vector::Constant(y.size(), 1.0 / variance), y / variance};
}

/// log N(y | H mean + o, H S H' + variance I) and the posterior of w, by explicit inverses.
struct Closed {
  double log_evidence;
  Vector mean;
  Matrix covariance;
};
Closed closed_form(const Matrix& h, const Vector& prior_mean, const Matrix& prior, const Vector& offset,
                   const Vector& y, double variance) {
  const Matrix k = h * prior * h.transpose() + variance * Matrix::Identity(y.size(), y.size());
  const Vector r = y - h * prior_mean - offset;
  const Matrix inverse = testing::dense_inverse(k);
  const double log_det = std::log(testing::dense_determinant(k));
  return {-0.5 * (r.dot(inverse * r) + log_det + static_cast<double>(y.size()) * std::log(2.0 * std::numbers::pi)),
          prior_mean + prior * h.transpose() * inverse * r, prior - prior * h.transpose() * inverse * h * prior};
}

void expect_moments(const ImportanceEstimate& is, const Closed& truth) {
  EXPECT_LT(std::abs(is.log_evidence - truth.log_evidence), 5.0 * is.evidence_error + 1e-9);
  for (Index i = 0; i < truth.mean.size(); ++i) {
    const double sd = std::sqrt(truth.covariance(i, i));
    EXPECT_LT(std::abs(is.weights.mean(i) - truth.mean(i)), 5.0 * is.weights.mean_error(i) * sd + 1e-9) << i;
    EXPECT_LT(std::abs(std::log(is.weights.sd(i) / sd)), 5.0 * is.weights.log_sd_error(i) + 1e-9) << i;
  }
}

Model gaussian_model(const Matrix& h, const Prior& prior, const Vector& offset, const Vector& y, double variance) {
  Model model{.prior = prior, .design = h, .offset = offset, .sites = {}};
  model.sites = {observe("gaussian", y, {{"variance", one(variance)}})};
  return model;
}

TEST(ImportanceSampling, AgreesWithTheClosedFormOfGaussianSites) {
  for (const auto& [rows, dimension] : {std::pair<Index, Index>{12, 3}, {4, 30}, {6, 6}}) {
    const Matrix h = random_matrix(rows, dimension, 3);
    const Vector y = random_vector(rows, 4);
    const Vector offset = random_vector(rows, 5);
    const Vector mean = random_vector(dimension, 6);
    const Matrix covariance = testing::random_covariance(dimension, std::max<Index>(2, dimension / 2), 7);
    const Model model = gaussian_model(h, DenseGaussian{mean, covariance}, offset, y, 0.3);
    const auto space = std::make_shared<const SamplingSpace>(model);
    EXPECT_LE(space->rank(), rows);
    // Around a Gaussian that is not quite the posterior.
    SiteApproximation sites = gaussian_sites(y, 0.3);
    sites.precision *= 0.8;
    sites.shift.array() += 0.2;
    const auto around = ReferenceGaussian::make(space, sites);
    ASSERT_TRUE(around.has_value());
    ImportanceSampler sampler(model, {{&*around}}, {.most = 20000, .seed = 11});
    sampler.draw(4000);
    sampler.draw(16000);
    const ImportanceEstimate is = sampler.estimate();
    EXPECT_EQ(is.draws, 20000);
    EXPECT_LT(is.pareto_k, 0.5);
    expect_moments(is, closed_form(h, mean, covariance, offset, y, 0.3));
  }
}

TEST(ImportanceSampling, AProcessWithItsOwnRowsHasATriangularRoot) {
  Model model = process_model("gaussian", 25, 3);
  const auto space = std::make_shared<const SamplingSpace>(model);
  EXPECT_TRUE(space->weights_are_latents());
  const auto prior = ReferenceGaussian::prior(space);
  ASSERT_TRUE(prior.has_value());
  const auto& process = std::get<GaussianProcess>(model.prior);
  Matrix k;
  process.kernel->gram(process.inputs, k, 1);
  EXPECT_LT((prior->latent_root() * prior->latent_root().transpose() - k).norm(), 1e-9 * k.norm());
  const SiteBlock& sites = *model.sites.front();
  const double variance = sites.parameters().front().values(0);
  const auto q = ReferenceGaussian::make(space, gaussian_sites(sites.responses(), variance));
  ASSERT_TRUE(q.has_value());
  EXPECT_TRUE(q->root_is_lower());
  ImportanceSampler sampler(model, {{&*q, 3.0}, {&*prior, 1.0}}, {.most = 8000, .seed = 2});
  sampler.draw(8000);
  const ImportanceEstimate is = sampler.estimate();
  expect_moments(is, closed_form(Matrix::Identity(25, 25), Vector::Constant(25, process.mean), k, Vector::Zero(25),
                                 sites.responses(), variance));
}

TEST(ImportanceSampling, AgreesWithAGridWithoutAGaussianFactor) {
  // p(w) ∝ exp(-|w0| - |w1|) N(0.7 | w0 + 2 w1, 0.5): all factors are sites.
  Matrix h(3, 2);
  h << 1.0, 0.0, 0.0, 1.0, 1.0, 2.0;
  Model model{.prior = NoGaussian{2}, .design = h, .sites = {}};
  model.sites = {observe("laplace", Vector::Zero(2), {{"scale", one(1.0)}}),
                 observe("gaussian", Vector::Constant(1, 0.7), {{"variance", one(0.5)}})};
  double z = 0.0;
  double first = 0.0;
  constexpr double step = 0.02;
  for (double a = -25.0; a < 25.0; a += step)
    for (double b = -25.0; b < 25.0; b += step) {
      const double p = 0.25 * std::exp(-std::abs(a) - std::abs(b) + normal_log_density(0.7, a + 2.0 * b, 0.5));
      z += p * step * step;
      first += p * b * step * step;
    }
  const auto space = std::make_shared<const SamplingSpace>(model);
  SiteApproximation sites{Vector::Ones(3), Vector::Zero(3)};
  sites.precision(2) = 2.0;
  sites.shift(2) = 1.4;
  const auto q = ReferenceGaussian::make(space, sites);
  ASSERT_TRUE(q.has_value());
  ImportanceSampler sampler(model, {{&*q}}, {.most = 40000, .seed = 5});
  sampler.draw(40000);
  const ImportanceEstimate is = sampler.estimate();
  EXPECT_LT(std::abs(is.log_evidence - std::log(z)), 4.0 * is.evidence_error + 1e-4);
  EXPECT_LT(std::abs(is.weights.mean(1) - first / z), 4.0 * is.weights.mean_error(1) * is.weights.sd(1) + 1e-4);
  EXPECT_LT(is.evidence_error, 0.02);
}

TEST(ImportanceSampling, SameSeedSameBytesAtAnyNumberOfThreads) {
  const Model model = linear_model("bernoulli-logit", 40, 5, 8);
  const auto space = std::make_shared<const SamplingSpace>(model);
  const auto prior = ReferenceGaussian::prior(space);
  const auto at = ReferenceGaussian::at(space, model, space->latent_mean());
  ASSERT_TRUE(prior && at);
  const auto run = [&](int threads) {
    ImportanceSampler sampler(model, {{&*at, 0.5}, {&*prior, 0.5}}, {.most = 9000, .seed = 1, .threads = threads});
    sampler.draw(5000);
    sampler.draw(4000);
    return std::pair(sampler.estimate(), sampler.resample_weights(300));
  };
  const auto [one_thread, draws] = run(1);
  const auto [three, other_draws] = run(3);
  EXPECT_EQ(one_thread.log_evidence, three.log_evidence);
  EXPECT_EQ(one_thread.weights.sd, three.weights.sd);
  EXPECT_EQ(one_thread.latent.mean_error, three.latent.mean_error);
  EXPECT_EQ(draws, other_draws);
  // Resampled draws have the moments of the weights.
  for (Index i = 0; i < 5; ++i)
    EXPECT_NEAR(draws.row(i).mean(), one_thread.weights.mean(i), 5.0 * one_thread.weights.sd(i) / std::sqrt(300.0));
}

TEST(ImportanceSampling, UnseenWeightsKeepTheirPrior) {
  // One row sees the sum of three weights: their difference stays what it was.
  Model model{.prior = Isotropic{Vector::Zero(3), 2.0}, .design = Matrix(Matrix::Ones(1, 3)), .sites = {}};
  model.sites = {observe("poisson", Vector::Constant(1, 4.0))};
  const auto space = std::make_shared<const SamplingSpace>(model);
  EXPECT_EQ(space->rank(), 1);
  const auto q = ReferenceGaussian::at(space, model, Vector::Constant(1, 1.3));
  ASSERT_TRUE(q.has_value());
  ImportanceSampler sampler(model, {{&*q}}, {.most = 8000, .seed = 5});
  sampler.draw(8000);
  const ImportanceEstimate is = sampler.estimate();
  // Var(w) = 4/3 + Var(sum) / 9.
  EXPECT_NEAR(is.weights.sd(1) * is.weights.sd(1), 4.0 / 3.0 + is.latent.sd(0) * is.latent.sd(0) / 9.0, 1e-12);
  const Matrix w = sampler.resample_weights(4000);
  const Vector difference = w.row(0) - w.row(1);
  EXPECT_NEAR(difference.squaredNorm() / 4000.0, 4.0, 0.4);
}

TEST(ImportanceSampling, AWalkSeenInTwoPlacesKeepsItsConstraint) {
  // Six steps that sum to zero, two of them seen: covariance of the others by the pseudo-inverse of the precision.
  SparseMatrix seen(2, 6);
  seen.insert(0, 1) = 1.0;
  seen.insert(1, 4) = 1.0;
  const Vector y = (Vector(2) << 0.8, -0.4).finished();
  Model model{.prior = IntrinsicField{FieldKind::rw1, 6, 1.5}, .design = Design(seen), .sites = {}};
  model.sites = {observe("gaussian", y, {{"variance", one(0.2)}})};
  const auto space = std::make_shared<const SamplingSpace>(model);
  EXPECT_EQ(space->rank(), 2);
  const auto q = ReferenceGaussian::make(space, gaussian_sites(y, 0.2));
  ASSERT_TRUE(q.has_value());
  Matrix precision = Matrix::Zero(6, 6);
  for (Index j = 0; j + 1 < 6; ++j) {
    precision(j, j) += 1.5;
    precision(j + 1, j + 1) += 1.5;
    precision(j, j + 1) -= 1.5;
    precision(j + 1, j) -= 1.5;
  }
  const Matrix level = Matrix::Constant(6, 6, 1.0 / 6.0);
  const Matrix covariance = testing::dense_inverse(precision + level) - level;
  ImportanceSampler sampler(model, {{&*q}}, {.most = 8000, .seed = 6});
  sampler.draw(8000);
  expect_moments(sampler.estimate(), closed_form(Matrix(seen), Vector::Zero(6), covariance, Vector::Zero(2), y, 0.2));
}

TEST(ParetoSmoothing, FindsTheShapeOfItsOwnQuantiles) {
  for (const double k : {-0.2, 0.0, 0.3, 0.8}) {
    std::vector<double> excesses;
    for (int i = 0; i < 2000; ++i) {
      const double p = (i + 0.5) / 2000.0;
      excesses.push_back(2.5 * (k == 0.0 ? -std::log1p(-p) : std::expm1(-k * std::log1p(-p)) / k));
    }
    const ParetoTail fit = fit_pareto(excesses);
    EXPECT_NEAR(fit.shape, k, 0.03) << k;
    EXPECT_NEAR(fit.scale, 2.5, 0.15) << k;
  }
}

TEST(ParetoSmoothing, EqualWeightsHaveNoTailAndHeavyOnesAreSeen) {
  std::vector<double> equal(100, 0.5);
  EXPECT_EQ(smooth_tail(equal, 0.5), -std::numeric_limits<double>::infinity());
  // Weights 1/u have shape 1.
  std::vector<double> heavy;
  for (int i = 0; i < 200; ++i) heavy.push_back(-std::log((199.5 - i) / 200.0));
  EXPECT_GT(smooth_tail(heavy, 0.0), 0.8);
}

}  // namespace
}  // namespace gaussmith
