// Sparse linear models: no hidden units, so that expectation propagation is the only approximation.

#include "gaussmith/infer.hpp"
#include "gaussmith/network.hpp"
#include "gaussmith/random.hpp"
#include "network/network_problem.hpp"
#include "network/unit_law.hpp"
#include "numerics/special.hpp"
#include "support/models.hpp"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

using testing::random_matrix;

NetworkModel linear_network(const Matrix& inputs, const Sites& sites, WeightPrior weights) {
  NetworkModel model;
  model.inputs = inputs;
  model.sites = sites;
  model.prior.units = 0;
  model.prior.weights = weights;
  model.standardize = false;
  return model;
}

Sites gaussian_sites(const Vector& y) { return observe("gaussian", y, {{"variance", one(1.0)}}); }

/// y = X w + noise with some weights away from zero.
Vector sparse_responses(const Matrix& x, Index relevant, double noise, std::uint64_t seed) {
  Random random(seed);
  Vector y = Vector::Zero(x.rows());
  for (Index j = 0; j < std::min(relevant, x.cols()); ++j) y += (j % 2 == 0 ? 1.0 : -0.7) * x.col(j);
  for (double& value : y) value += noise * random.normal();
  return y;
}

/// log N(y | 0, c).
double log_normal(const Vector& y, const Matrix& c) {
  const Eigen::LLT<Matrix> factor(c);
  return -0.5 * factor.matrixL().solve(y).squaredNorm() - factor.matrixLLT().diagonal().array().log().sum() -
         static_cast<double>(y.size()) * log_sqrt_two_pi;
}

Matrix evidence_covariance(const Matrix& x, double phi, double theta) {
  const Index n = x.rows();
  return std::exp(phi) * x * x.transpose() + Matrix::Ones(n, n) + std::exp(theta) * Matrix::Identity(n, n);
}

}  // namespace

TEST(LinearNetwork, IsExactAtKnownScales) {
  const Matrix x = random_matrix(30, 4, 3);
  const Vector y = sparse_responses(x, 2, 0.5, 4);
  for (const double power : {1.0, 0.8})
    for (const CoreForm form : {CoreForm::precision, CoreForm::covariance}) {
      NetworkModel model = linear_network(x, gaussian_sites(y), WeightPrior::gaussian);
      model.prior.scale_prior = {-0.5, 0.0};
      model.prior.noise_prior = {-1.2, 0.0};
      const NetworkPosterior q = infer(model, {.power = power}, {.form = form});
      ASSERT_TRUE(q.report().converged()) << q.report().brief();
      const Matrix c = evidence_covariance(x, -0.5, -1.2);
      EXPECT_NEAR(q.log_evidence().value, log_normal(y, c), 1e-6);
      EXPECT_EQ(q.log_evidence().kind, EvidenceKind::approximation);
      const Matrix k = c - std::exp(-1.2) * Matrix::Identity(30, 30);
      const Matrix inverse = c.inverse();
      EXPECT_LT((q.latent().mean - k * inverse * y).cwiseAbs().maxCoeff(), 1e-6);
      EXPECT_LT((q.latent().variance - (k - k * inverse * k).diagonal()).cwiseAbs().maxCoeff(), 1e-6);
      // Rows left out: y_i - (C^-1 y)_i / (C^-1)_ii with variance 1 / (C^-1)_ii.
      const LeaveOneOut left = q.leave_one_out();
      for (Index i = 0; i < 30; ++i) {
        const double variance = 1.0 / inverse(i, i);
        const double mean = y(i) - inverse.row(i).dot(y) * variance;
        EXPECT_NEAR(left.latent.mean(i), mean, 1e-5);
        EXPECT_NEAR(left.log_density(i), normal_log_density(y(i), mean, variance), 1e-5);
      }
      // A fitted network predicts the same at the rows.
      const Prediction p = q.predict(x);
      EXPECT_LT((p.latent_mean() - q.latent().mean).cwiseAbs().maxCoeff(), 1e-9);
      EXPECT_LT((p.latent_variance() - q.latent().variance).cwiseAbs().maxCoeff(), 1e-9);
      EXPECT_NEAR(p.response_variance()(3), p.latent_variance()(3) + std::exp(-1.2), 1e-9);
    }
}

TEST(LinearNetwork, IntegratesItsScales) {
  const Matrix x = random_matrix(30, 4, 8);
  const Vector y = sparse_responses(x, 4, 0.3, 9);
  NetworkModel model = linear_network(x, gaussian_sites(y), WeightPrior::gaussian);
  const NetworkPosterior q = infer(model, {}, {});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  // The truth on a grid of (phi, theta).
  double highest = -1e300, total = 0.0;
  std::array<double, 4> sums{};
  std::vector<std::array<double, 3>> points;
  for (double phi = -8.0; phi <= 6.0; phi += 0.1)
    for (double theta = -6.0; theta <= 2.0; theta += 0.1) {
      const double value = log_normal(y, evidence_covariance(x, phi, theta)) + normal_log_density(phi, -2.0, 9.0) +
                           normal_log_density(theta, -2.0, 4.0);
      points.push_back({value, phi, theta});
      highest = std::max(highest, value);
    }
  for (const auto& [value, phi, theta] : points) {
    const double w = std::exp(value - highest);
    total += w;
    sums[0] += w * phi;
    sums[1] += w * phi * phi;
    sums[2] += w * theta;
    sums[3] += w * theta * theta;
  }
  const double phi = sums[0] / total, phi_sd = std::sqrt(sums[1] / total - phi * phi);
  const double theta = sums[2] / total, theta_sd = std::sqrt(sums[3] / total - theta * theta);
  EXPECT_NEAR(q.log_evidence().value, highest + std::log(total * 0.01), 0.1);
  const LogVariance& scale = q.summary().scales.front();
  EXPECT_NEAR(scale.mean, phi, 0.05 * phi_sd);
  EXPECT_NEAR(scale.sd / phi_sd, 1.0, 0.1);
  EXPECT_NEAR(q.summary().noise->mean, theta, 0.1 * theta_sd);
  EXPECT_NEAR(q.summary().noise->sd / theta_sd, 1.0, 0.1);
}

TEST(LinearNetwork, ProbitWithLaplaceWeightsIsEp) {
  const Index n = 40, d = 5;
  const Matrix x = random_matrix(n, d, 21);
  Random random(22);
  Vector y(n);
  for (Index i = 0; i < n; ++i) y(i) = x(i, 0) - 0.8 * x(i, 1) + random.normal() > 0.0 ? 1.0 : -1.0;
  NetworkModel model = linear_network(x, observe("bernoulli-probit", y), WeightPrior::laplace);
  model.prior.scale_prior = {-1.0, 0.0};
  const NetworkPosterior q = infer(model, {.tolerance = 1e-10}, {});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();

  // The same with rows for the weights: Laplace sites on those of inputs, a normal one on the intercept.
  Matrix rows = Matrix::Zero(n + d + 1, d + 1);
  rows.topRows(n) << x, Vector::Ones(n);
  rows.bottomRows(d + 1).setIdentity();
  Model same;
  same.prior = NoGaussian{d + 1};
  same.design = rows;
  same.sites = {observe("bernoulli-probit", y),
                observe("laplace", Vector::Zero(d), {{"scale", one(std::exp(-0.5) / std::numbers::sqrt2)}}),
                observe("gaussian", Vector::Zero(1), {{"variance", one(1.0)}})};
  const Posterior ep = infer(same, Ep{.tolerance = 1e-10});
  EXPECT_NEAR(q.log_evidence().value, ep.log_evidence().value, 1e-7);
  EXPECT_LT((q.latent().mean - ep.latent().mean.head(n)).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_LT((q.latent().variance - ep.latent().variance.head(n)).cwiseAbs().maxCoeff(), 1e-7);
}

namespace {

/// Draws of (w, phi, theta) for y ~ N(X w, e^theta), w_j ~ Laplace of variance e^phi, both scales unknown, the last
/// weight N(0, 1): Gibbs over w and its normal scales, Metropolis over phi and theta with the scales of w left out.
struct GibbsRun {
  Vector mean, sd;
  double phi_mean = 0.0, phi_sd = 0.0, theta_mean = 0.0;
};

/// Inverse Gaussian with this mean and shape (Michael, Schucany and Haas).
double inverse_gaussian(double mean, double shape, Random& random) {
  const double z = random.normal();
  const double y = z * z;
  const double x = mean + mean * mean * y / (2.0 * shape) -
                   mean / (2.0 * shape) * std::sqrt(4.0 * mean * shape * y + mean * mean * y * y);
  return random.uniform() <= mean / (mean + x) ? x : mean * mean / x;
}

GibbsRun gibbs(const Matrix& x, const Vector& y, int draws, std::uint64_t seed) {
  Random random(seed);
  const Index n = x.rows(), d = x.cols() + 1;
  Matrix rows(n, d);
  rows << x, Vector::Ones(n);
  const Matrix gram = rows.transpose() * rows;
  const Vector moment = rows.transpose() * y;
  Vector w = Vector::Zero(d), scale_precision = Vector::Ones(d);
  double phi = -2.0, theta = -1.0;
  Vector sum = Vector::Zero(d), square = Vector::Zero(d);
  double phi_sum = 0.0, phi_square = 0.0, theta_sum = 0.0;
  const int warmup = draws / 10;
  for (int draw = 0; draw < draws + warmup; ++draw) {
    Matrix precision = gram * std::exp(-theta);
    precision.diagonal() += scale_precision;
    const Eigen::LLT<Matrix> factor(precision);
    Vector z(d);
    for (double& value : z) value = random.normal();
    w = factor.solve(Vector(moment * std::exp(-theta))) + factor.matrixU().solve(z);
    const double size = w.head(d - 1).cwiseAbs().sum();
    const auto log_phi = [&](double p) {
      const double rate = std::numbers::sqrt2 * std::exp(-0.5 * p);
      return static_cast<double>(d - 1) * std::log(rate) - rate * size + normal_log_density(p, -2.0, 9.0);
    };
    const double error = (y - rows * w).squaredNorm();
    const auto log_theta = [&](double t) {
      return -0.5 * static_cast<double>(n) * t - 0.5 * error * std::exp(-t) + normal_log_density(t, -2.0, 4.0);
    };
    const double next_phi = phi + 0.9 * random.normal(), next_theta = theta + 0.5 * random.normal();
    if (std::log(random.uniform()) < log_phi(next_phi) - log_phi(phi)) phi = next_phi;
    if (std::log(random.uniform()) < log_theta(next_theta) - log_theta(theta)) theta = next_theta;
    const double rate = std::numbers::sqrt2 * std::exp(-0.5 * phi);
    for (Index j = 0; j + 1 < d; ++j) scale_precision(j) = inverse_gaussian(rate / std::abs(w(j)), rate * rate, random);
    if (draw < warmup) continue;
    sum += w;
    square += w.cwiseAbs2();
    phi_sum += phi;
    phi_square += phi * phi;
    theta_sum += theta;
  }
  const double count = draws;
  GibbsRun out{sum / count, {}, phi_sum / count, 0.0, theta_sum / count};
  out.sd = (square / count - out.mean.cwiseAbs2()).cwiseSqrt();
  out.phi_sd = std::sqrt(phi_square / count - out.phi_mean * out.phi_mean);
  return out;
}

}  // namespace

TEST(LinearNetwork, LaplaceWithItsScaleIntegratedAgreesWithGibbs) {
  const Matrix x = random_matrix(40, 10, 31);
  const Vector y = sparse_responses(x, 3, 0.5, 32);
  const NetworkPosterior q = infer(linear_network(x, gaussian_sites(y), WeightPrior::laplace), {}, {});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
#ifdef GAUSSMITH_INSTRUMENTED
  constexpr int draws = 3000;
  constexpr double chance = 0.1;
#else
  constexpr int draws = 30000;
  constexpr double chance = 0.0;
#endif
  const GibbsRun truth = gibbs(x, y, draws, 33);
  const UnitWeights& w = q.fitted().starts.front().linear;
  for (Index j = 0; j < 10; ++j) {
    EXPECT_NEAR(w.mean(j), truth.mean(j), (0.1 + chance) * truth.sd(j)) << j;
    EXPECT_NEAR(std::sqrt(w.covariance(j, j)) / truth.sd(j), 1.0, 0.05 + chance) << j;
  }
  EXPECT_NEAR(q.summary().scales.front().mean, truth.phi_mean, (0.1 + chance) * truth.phi_sd);
}

TEST(LinearNetwork, RowsThatAloneSeeAWeightTakeTheLowerPower) {
  // Every row has a level of its own. At power 1 some row has no cavity, for ever, and the evidence was positive.
  const Matrix x = Matrix::Identity(5, 5).rightCols(4);
  Vector y(5);
  y << 70, 70, 50, 500, 60;
  NetworkModel model = linear_network(x, observe("poisson", y), WeightPrior::laplace);
  model.standardize = true;
  const NetworkPosterior q = infer(model, {}, {});
  ASSERT_TRUE(q.report().converged()) << q.report().brief();
  EXPECT_LT(q.log_evidence().value, 0.0);
  EXPECT_LT((q.latent().mean.array().exp() / y.array() - 1.0).abs().maxCoeff(), 0.15);
  const NetworkPosterior given = infer(model, {.power = 0.8}, {});
  EXPECT_EQ(q.log_evidence().value, given.log_evidence().value);
}

TEST(LinearNetwork, NoiseIsRightBesideAnOutlier) {
  const Matrix x = random_matrix(30, 3, 21);
  Vector y = sparse_responses(x, 2, 0.5, 22);
  for (const double outlier : {10.0, 100.0, 1000.0}) {
    y(3) = outlier;
    NetworkModel model = linear_network(x, gaussian_sites(y), WeightPrior::gaussian);
    model.prior.scale_prior = {-1.0, 0.0};
    const NetworkPosterior q = infer(model, {}, {});
    ASSERT_TRUE(q.report().converged()) << q.report().brief();
    // The noise alone is uncertain: the truth is an integral over theta.
    double highest = -1e300, total = 0.0, first = 0.0, second = 0.0;
    std::vector<std::array<double, 2>> points;
    for (double theta = -4.0; theta <= 16.0; theta += 0.02) {
      points.push_back(
          {log_normal(y, evidence_covariance(x, -1.0, theta)) + normal_log_density(theta, -2.0, 4.0), theta});
      highest = std::max(highest, points.back()[0]);
    }
    for (const auto& [value, theta] : points) {
      const double w = std::exp(value - highest);
      total += w;
      first += w * theta;
      second += w * theta * theta;
    }
    const double mean = first / total, sd = std::sqrt(second / total - mean * mean);
    EXPECT_NEAR(q.summary().noise->mean, mean, 0.1 * sd) << outlier;
    EXPECT_NEAR(q.summary().noise->sd / sd, 1.0, 0.15) << outlier;
    EXPECT_NEAR(q.log_evidence().value, highest + std::log(total * 0.02), 0.1) << outlier;
  }
}

TEST(LinearNetwork, ConvergesOnSeededProblems) {
#ifdef GAUSSMITH_INSTRUMENTED
  constexpr int problems = 20;
#else
  constexpr int problems = 200;
#endif
  const std::array<WeightPrior, 5> priors{WeightPrior::gaussian, WeightPrior::ard, WeightPrior::laplace,
                                          WeightPrior::laplace_ard, WeightPrior::independent};
  int converged = 0;
  for (int i = 0; i < problems; ++i) {
    const auto seed = static_cast<std::uint64_t>(5000 + i);
    Random random(seed);
    const bool wide = i % 3 == 2;
    const auto n = static_cast<Index>(15 + 35 * random.uniform());
    const auto d = wide ? n + 1 + static_cast<Index>(static_cast<double>(n) * random.uniform())
                        : 2 + static_cast<Index>(10 * random.uniform());
    const Matrix x = random_matrix(n, d, seed);
    const bool signs = i % 4 == 3;
    Vector y = sparse_responses(x, 1 + i % 5, 0.1 + random.uniform(), seed + 1);
    if (signs) y = (y.array() > y.mean()).select(Vector::Ones(n), -Vector::Ones(n));
    NetworkModel model = linear_network(x, signs ? observe("bernoulli-probit", y) : gaussian_sites(y),
                                        priors[static_cast<std::size_t>(i) % priors.size()]);
    model.standardize = true;
    const NetworkPosterior q = infer(model, {}, {});
    EXPECT_TRUE(q.report().converged()) << "problem " << i << ", " << n << " x " << d << ", "
                                        << to_string(model.prior.weights) << ": " << q.report().brief();
    converged += q.report().converged() ? 1 : 0;
  }
  EXPECT_EQ(converged, problems);
}

TEST(LinearNetwork, ConvergesWithFarMoreInputsThanRows) {
  // Log scales that many weights share drift for long, and an extrapolated step may send them anywhere.
  const Matrix x = random_matrix(30, 600, 31);
  for (const WeightPrior weights : {WeightPrior::laplace, WeightPrior::gaussian}) {
    NetworkModel model = linear_network(x, gaussian_sites(sparse_responses(x, 4, 0.3, 32)), weights);
    model.standardize = true;
    const NetworkPosterior q = infer(model, {}, {});
    EXPECT_TRUE(q.report().converged()) << to_string(weights) << ": " << q.report().brief();
    // All weights together explain about the variance of the responses, which is one.
    EXPECT_NEAR(q.summary().scales.front().mean, -std::log(600.0), 3.0) << to_string(weights);
  }
}

TEST(LinearNetwork, CovarianceFormRefusesMoreNegativePrecisionsThanRows) {
  const Matrix x = random_matrix(5, 40, 33);
  GaussianFactors weights(40), activations(5);
  weights.precision.setOnes();
  activations.precision.setConstant(10.0);
  UnitLaw law(x, true);
  ASSERT_TRUE(law.refresh(weights, activations, 1));
  weights.precision.head(6).setConstant(-1e-3);
  EXPECT_FALSE(law.refresh(weights, activations, 1));
}

TEST(LinearNetwork, ConstantColumnsAreIrrelevantAndGroupsShareAScale) {
  Matrix x = random_matrix(40, 5, 41);
  x.col(2).setConstant(3.0);
  NetworkModel model = linear_network(x, gaussian_sites(sparse_responses(x, 1, 0.3, 42)), WeightPrior::ard);
  model.standardize = true;
  model.prior.groups = {{"last two", {3, 4}}};
  const NetworkPosterior q = infer(model, {}, {});
  ASSERT_TRUE(q.report().converged());
  EXPECT_EQ(q.relevance().front().input, 0);
  EXPECT_FALSE(q.relevance().front().irrelevant);
  EXPECT_EQ(q.relevance().back().input, 2);
  EXPECT_EQ(q.relevance().back().share, 0.0);
  EXPECT_TRUE(q.relevance().back().irrelevant);
  EXPECT_EQ(q.summary().scales.size(), 3u);
  EXPECT_EQ(q.summary().scales.back().name, "linear.last two");
  double total = 0.0;
  for (const InputRelevance& input : q.relevance()) total += input.share;
  EXPECT_NEAR(total, 1.0, 1e-12);
}

TEST(LinearNetwork, UnitsOfTheDataDoNotMatter) {
  const Matrix x = random_matrix(40, 3, 51);
  const Vector y = sparse_responses(x, 2, 0.4, 52);
  const auto fit = [](const Matrix& inputs, const Vector& responses) {
    NetworkModel model = linear_network(inputs, gaussian_sites(responses), WeightPrior::ard);
    model.standardize = true;
    return infer(model, {}, {});
  };
  const Matrix scaled = ((x.array() * 20.0) + 7.0).matrix();
  const NetworkPosterior a = fit(x, y), b = fit(scaled, Vector(100.0 * y.array() - 5.0));
  EXPECT_LT((100.0 * a.latent().mean.array() - 5.0 - b.latent().mean.array()).abs().maxCoeff(), 1e-5);
  EXPECT_NEAR(a.log_evidence().value, b.log_evidence().value + 40.0 * std::log(100.0), 1e-6);
  EXPECT_NEAR(b.summary().noise->mean - a.summary().noise->mean, 2.0 * std::log(100.0), 1e-6);
}

}  // namespace gaussmith
