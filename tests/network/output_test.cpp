#include "network/factors.hpp"
#include "network/output_law.hpp"
#include "network/output_moments.hpp"
#include "network/unit_tilt.hpp"

#include "gaussmith/random.hpp"
#include "network/activation.hpp"
#include "numerics/quadrature.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

namespace gaussmith {

namespace {

struct Slopes {
  double value = 0.0, slope = 0.0, curvature = 0.0;
};

Slopes slopes(const OutputLaw& law, double m, double v) {
  Slopes out;
  law.slopes(0, {&m, 1}, {&v, 1}, {{&out.value, 1}, {&out.slope, 1}, {&out.curvature, 1}});
  return out;
}

double log_normaliser(const OutputLaw& law, double m, double v) {
  double exponent = 0.0, factor = 0.0;
  law.normaliser(0, {&m, 1}, {&v, 1}, {&exponent, 1}, {&factor, 1});
  return exponent + std::log(factor);
}

void set_noise(NoisyOutput& law, const Normal& noise) { law.set_noise(0, {&noise.mean, 1}, {&noise.variance, 1}); }

/// Differences of the law's own values, and values of a double integral.
void expect_slopes(const OutputLaw& law, double m, double v, double truth, double accuracy) {
  const Slopes here = slopes(law, m, v);
  EXPECT_NEAR(here.value, truth, accuracy);
  EXPECT_NEAR(log_normaliser(law, m, v), here.value, 1e-10);
  const double h = 1e-4;
  const double above = slopes(law, m + h, v).value, below = slopes(law, m - h, v).value;
  EXPECT_NEAR(here.slope, (above - below) / (2.0 * h), 1e-5);
  EXPECT_NEAR(here.curvature, -(above - 2.0 * here.value + below) / (h * h), 1e-4);
}

}  // namespace

TEST(OutputLaw, NoiseIsIntegrated) {
  const Vector y = Vector::Constant(1, 0.7);
  const Normal noise{-1.5, 0.2};
  for (const double power : {1.0, 0.8})
    for (const double m : {0.5, -2.0}) {
      const double v = 0.3;
      NoisyOutput law(y, power, 15);
      set_noise(law, noise);
      const auto outer = [&](double z) {
        const double theta = noise.mean + std::sqrt(noise.variance) * z;
        const auto inner = [&](double f) {
          return std::array<double, 1>{
              std::exp(power * normal_log_density(y(0), f, std::exp(theta)) + normal_log_density(f, m, v))};
        };
        const std::array<double, 5> breaks{-9.0, m, 0.6, 0.8, 9.0};
        const double density = std::exp(-0.5 * z * z - log_sqrt_two_pi);
        const double value = density * integrate<1>(inner, breaks).value[0];
        return std::array<double, 3>{value, theta * value, theta * theta * value};
      };
      const std::array<double, 4> breaks{-9.0, -2.0, 2.0, 9.0};
      const auto truth = integrate<3>(outer, breaks, {.relative = 1e-10}).value;
      expect_slopes(law, m, v, std::log(truth[0]), 1e-6);
      Normal tilted;
      law.noise_moments(0, {&m, 1}, {&v, 1}, {&tilted.mean, 1}, {&tilted.variance, 1});
      EXPECT_NEAR(tilted.mean, truth[1] / truth[0], 1e-5);
      EXPECT_NEAR(tilted.variance, truth[2] / truth[0] - std::pow(truth[1] / truth[0], 2), 1e-5);
    }
}

TEST(OutputLaw, OutliersAskForNoiseFarFromItsCavity) {
  // The error is known to within v, its square over the noise of the cavity goes up to 1e6.
  const double c = -1.0, d = 0.27, v = 0.02;
  for (const double power : {1.0, 0.8})
    for (const double error : {0.3, 2.0, 6.0, 60.0, 600.0}) {
      const Vector y = Vector::Constant(1, error);
      const double m = 0.0, variance = d * d;
      NoisyOutput law(y, power, 15);
      law.set_noise(0, {&c, 1}, {&variance, 1}, {&m, 1}, {&v, 1});
      // The integrand over theta on a fine grid, which is exact for what is smooth and vanishes at both ends.
      const double step = 1e-3;
      std::vector<std::array<double, 2>> points;
      double highest = -1e300;
      for (double theta = c - 10.0 * d; theta < 14.0; theta += step) {
        const double value = normal_log_density(theta, c, d * d) +
                             normal_log_density(error, m, v + std::exp(theta) / power) +
                             0.5 * (1.0 - power) * (2.0 * log_sqrt_two_pi + theta) - 0.5 * std::log(power);
        points.push_back({theta, value});
        highest = std::max(highest, value);
      }
      std::array<double, 3> sums{};
      for (const auto& [theta, value] : points) {
        const double w = std::exp(value - highest);
        sums[0] += w;
        sums[1] += w * theta;
        sums[2] += w * theta * theta;
      }
      const double mean = sums[1] / sums[0], spread = sums[2] / sums[0] - mean * mean;
      EXPECT_NEAR(log_normaliser(law, m, v), highest + std::log(sums[0] * step), 1e-4) << error;
      Normal tilted;
      law.noise_moments(0, {&m, 1}, {&v, 1}, {&tilted.mean, 1}, {&tilted.variance, 1});
      EXPECT_NEAR(tilted.mean, mean, 1e-3 * std::sqrt(spread)) << error;
      EXPECT_NEAR(tilted.variance / spread, 1.0, 1e-3) << error;
    }
}

TEST(OutputLaw, SitesOfTheCatalogueByTheirTiltedMoments) {
  const Vector y = Vector::Constant(1, -1.0);
  const double m = 0.4, v = 1.3;
  // E[Phi(-f)] = Phi(-m / sqrt(1 + v)).
  expect_slopes(CatalogueOutput(observe("bernoulli-probit", y), 1.0), m, v, log_ndtr(-m / std::sqrt(1.0 + v)), 1e-9);
}

TEST(OutputMoments, AreThoseOfDraws) {
  // f = h_0 + v'g(h) with everything independent but v: mean, variance and Cov(v, f) = S E[g].
  Vector h_mean(3), h_variance(3), m(3);
  h_mean << 0.3, -1.0, 1.5;
  h_variance << 0.5, 1.2, 0.1;
  m << 1.0, 0.5, 2.0;
  Matrix root(3, 3);
  root << 0.4, 0.0, 0.0, -0.2, 0.3, 0.0, 0.1, 0.2, 0.5;
  const Matrix s = root * root.transpose();
  ActivationMoments g{Matrix(1, 3), Matrix(1, 3)};
  for (Index k = 0; k < 3; ++k)
    activation_moments({h_mean.data() + k, 1}, {h_variance.data() + k, 1}, {g.mean.data() + k, 1},
                       {g.variance.data() + k, 1});
  const Marginals f = output_moments(g, m, s, {Vector::Constant(1, 0.2), Vector::Constant(1, 0.4)});
  const Vector covariance = s * g.mean.transpose();

  Random random(5);
  constexpr int draws = 400000;
  double sum = 0.0, square = 0.0;
  Vector with_v = Vector::Zero(3);
  for (int i = 0; i < draws; ++i) {
    Vector z(3);
    for (Index k = 0; k < 3; ++k) z(k) = random.normal();
    const Vector v = m + root * z;
    double value = 0.2 + std::sqrt(0.4) * random.normal();
    for (Index k = 0; k < 3; ++k)
      value += v(k) * std::erf((h_mean(k) + std::sqrt(h_variance(k)) * random.normal()) / std::sqrt(2.0));
    sum += value;
    square += value * value;
    with_v += (v - m) * value;
  }
  const double mean = sum / draws, variance = square / draws - mean * mean;
  EXPECT_NEAR(f.mean(0), mean, 5.0 * std::sqrt(variance / draws));
  EXPECT_NEAR(f.variance(0), variance, 5.0 * variance * std::sqrt(3.0 / draws));
  for (Index k = 0; k < 3; ++k)
    EXPECT_NEAR(covariance(k), with_v(k) / draws, 5.0 * std::sqrt(s(k, k) * (variance + mean * mean) / draws));
}

namespace {

/// One row; f given h is normal with the moments that the header states.
struct TiltCase {
  Normal q;
  double tau, nu, y, output_mean, rest, weight_mean, weight_variance, covariance;
};

/// Tilted mean and variance of h are those of an integral, to `accuracy` deviations.
void expect_tilt(const TiltCase& at, std::span<const double> breaks, double accuracy) {
  const double power = 0.8, p_tau = power * at.tau, p_nu = power * at.nu;
  const Vector y = Vector::Constant(1, at.y);
  NoisyOutput law(y, power, 1);
  set_noise(law, {-1.0, 0.0});
  Normal cavity;
  ASSERT_TRUE(without(at.q, p_tau, p_nu, cavity));
  double g = 0.0, unused = 0.0;
  activation_moments({&cavity.mean, 1}, {&cavity.variance, 1}, {&g, 1}, {&unused, 1});
  double shift = 0.0, ratio = 0.0;
  tilt_unit(law, 0,
            {.mean = {&at.q.mean, 1},
             .variance = {&at.q.variance, 1},
             .precision = {&p_tau, 1},
             .shift = {&p_nu, 1},
             .activation = {&g, 1},
             .output_mean = {&at.output_mean, 1},
             .output_variance = {&at.rest, 1},
             .weight_mean = {&at.weight_mean, 1},
             .weight_variance = {&at.weight_variance, 1},
             .covariance = {&at.covariance, 1}},
            {&shift, 1}, {&ratio, 1});
  const auto integrand = [&](double h) {
    const double apart = std::erf(h / std::sqrt(2.0)) - g;
    const double variance =
        at.rest + 2.0 * apart * at.covariance + apart * apart * at.weight_variance + std::exp(-1.0) / power;
    const double f = std::exp(normal_log_density(h, cavity.mean, cavity.variance) +
                              normal_log_density(at.y, at.output_mean + at.weight_mean * apart, variance));
    return std::array<double, 3>{f, h * f, h * h * f};
  };
  const auto truth = integrate<3>(integrand, breaks, {.relative = 1e-10}).value;
  const double mean = truth[1] / truth[0], variance = truth[2] / truth[0] - mean * mean;
  EXPECT_NEAR(at.q.mean + std::sqrt(at.q.variance) * shift, mean, accuracy * std::sqrt(variance));
  EXPECT_NEAR(at.q.variance * ratio / variance, 1.0, accuracy);
}

}  // namespace

TEST(UnitTilt, MomentsAreThoseOfAnIntegralOverTheActivation) {
  const std::array<double, 4> breaks{-8.0, 0.0, 1.0, 8.0};
  expect_tilt({{0.5, 0.35}, 0.7, 0.4, 1.1, 0.8, 0.5, 1.2, 0.1, 0.15}, breaks, 1e-5);
}

TEST(UnitTilt, FollowsAPeakFarNarrowerThanTheRule) {
  // All mass of the rule of q(h) falls on one node, whose spread is none.
  const std::array<double, 9> breaks{-8.0, -0.5, -0.1, 0.0, 0.05, 0.1, 0.2, 0.6, 8.0};
  expect_tilt({{0.0591, 0.952}, 0.0055, 0.07, 0.377, 0.477, 0.0382, -96.0, 0.63, 0.0}, breaks, 1e-2);
  expect_tilt({{-0.4, 1.5}, 0.0055, 0.0, 3.0, 0.477, 0.0382, 60.0, 0.63, 0.0}, breaks, 1e-2);
}

TEST(UnitTilt, FollowsACavityFarWiderThanTheRule) {
  // The site has narrowed q(h) to a tenth and the row says next to nothing.
  const std::array<double, 5> breaks{-9.0, -1.0, 0.5, 2.0, 9.0};
  expect_tilt({{0.5, 0.01}, 123.0, 61.5, 1.1, 0.8, 0.5, 0.05, 0.001, 0.0}, breaks, 1e-2);
}

TEST(UnitTilt, OutputGivenAnActivationIsThatOfTheWholeNetwork) {
  // Two units and an intercept, E[f | h_1] and Var[f | h_1] from scratch: nothing is added to or taken off m_f and V_f.
  const Normal first{0.4, 0.2}, second{-0.7, 0.9}, intercept{0.2, 0.3};
  const double m1 = 1.1, m2 = 0.8, s11 = 0.3, s12 = -0.12, s22 = 0.2, y = 1.3, power = 0.8;
  std::array<double, 2> g{}, g_variance{};
  const std::array<double, 2> means{first.mean, second.mean}, variances{first.variance, second.variance};
  activation_moments(means, variances, g, g_variance);
  const double square2 = g_variance[1] + g[1] * g[1];
  const Vector responses = Vector::Constant(1, y);
  NoisyOutput law(responses, power, 1);
  set_noise(law, {-1.0, 0.0});

  const double output_mean = intercept.mean + m1 * g[0] + m2 * g[1];
  const double rest = intercept.variance + s11 * g[0] * g[0] + 2.0 * s12 * g[0] * g[1] + s22 * g[1] * g[1] +
                      (m2 * m2 + s22) * g_variance[1];
  const double covariance = s11 * g[0] + s12 * g[1], none = 0.0;
  double shift = 0.0, ratio = 0.0;
  tilt_unit(law, 0,
            {.mean = {&first.mean, 1},
             .variance = {&first.variance, 1},
             .precision = {&none, 1},
             .shift = {&none, 1},
             .activation = {g.data(), 1},
             .output_mean = {&output_mean, 1},
             .output_variance = {&rest, 1},
             .weight_mean = {&m1, 1},
             .weight_variance = {&s11, 1},
             .covariance = {&covariance, 1}},
            {&shift, 1}, {&ratio, 1});
  const auto integrand = [&](double h) {
    const double g1 = std::erf(h / std::sqrt(2.0));
    const double mean = intercept.mean + m1 * g1 + m2 * g[1];
    // E[(h_0 + v_1 g_1 + v_2 g_2)^2] about the mean, term by term.
    const double variance =
        intercept.variance + s11 * g1 * g1 + 2.0 * s12 * g1 * g[1] + (s22 + m2 * m2) * square2 - m2 * m2 * g[1] * g[1];
    const double f = std::exp(normal_log_density(h, first.mean, first.variance) +
                              normal_log_density(y, mean, variance + std::exp(-1.0) / power));
    return std::array<double, 3>{f, h * f, h * h * f};
  };
  const std::array<double, 4> breaks{-7.0, 0.0, 1.0, 7.0};
  const auto truth = integrate<3>(integrand, breaks, {.relative = 1e-10}).value;
  const double mean = truth[1] / truth[0], variance = truth[2] / truth[0] - mean * mean;
  EXPECT_NEAR(first.mean + std::sqrt(first.variance) * shift, mean, 1e-5);
  EXPECT_NEAR(first.variance * ratio, variance, 1e-5);
}

TEST(OutputWeights, SiteIsOfRankOne) {
  // By explicit inverses: the precision and the shift that the tilted moments have and the cavity has not.
  Matrix s(2, 2);
  s << 0.6, 0.2, 0.2, 0.5;
  Vector m(2), g(2);
  m << 0.4, 1.0;
  g << 0.7, -0.3;
  const double alpha = 0.9, beta = 0.8;
  const Vector c = s * g;
  const Matrix tilted = s - beta * c * c.transpose();
  const Vector tilted_mean = m + alpha * c;
  const RankOneSite site(alpha, beta, g.dot(c), g.dot(m));
  const Matrix precision = tilted.inverse() - s.inverse();
  const Vector shift = tilted.inverse() * tilted_mean - s.inverse() * m;
  EXPECT_LT((precision - site.precision * g * g.transpose()).cwiseAbs().maxCoeff(), 1e-13);
  EXPECT_LT((shift - site.shift * g).cwiseAbs().maxCoeff(), 1e-13);
}

}  // namespace gaussmith
