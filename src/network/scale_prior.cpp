#include "network/scale_prior.hpp"

#include "numerics/elementary.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

namespace gaussmith {

namespace {

/// Nodes reach this many standard deviations of the cavity.
constexpr double reach = 8.0;
/// Steps in deviations of the cavity, and at most: the scale on which e^phi bends.
constexpr double widest_step = 0.25, longest_step = 0.4;
/// Beyond these e^phi is no number to compute with.
constexpr double furthest = 500.0;

/// Of w given phi: log of the integral of p(w | phi)^power N(w), and the first two moments of w.
struct Given {
  double log_normaliser, mean, square;
};

Given given_gaussian(const Normal& w, double phi, double power) {
  const double s = std::exp(phi) / power;
  const double total = w.variance + s;
  const double mean = w.mean * (s / total);
  return {normal_log_density(w.mean, 0.0, total) + 0.5 * (1.0 - power) * (2.0 * log_sqrt_two_pi + phi) -
              0.5 * std::log(power),
          mean, w.variance * (s / total) + mean * mean};
}

/// N(w | mean, variance) exp(-rate w) on w > 0: log of its mass and its first two moments. z = mean / sd - rate sd.
Given half_line(double mean, double variance, double rate) {
  const double sd = std::sqrt(variance);
  const double z = mean / sd - rate * sd;
  // rate (rate v / 2 - mean) = (z^2 - mean^2 / v) / 2; z^2 / 2 + log Phi(z) is scaled where it would cancel.
  const double log_mass = z < 0.0 ? std::log(0.5 * erfcx(-z * std::numbers::sqrt2 / 2.0)) - 0.5 * mean * mean / variance
                                  : rate * (0.5 * rate * variance - mean) + log_ndtr(z);
  // E[x] / sd and E[x^2] / v = 1 + z E[x] / sd of the truncated normal, far to the left by the series in 1 / z^2.
  constexpr double far = -60.0;
  const double excess = z < 0.0 ? elementary::mills_excess(-z) : z + mills(z);
  double square = 1.0 + z * excess;
  if (z < far) {
    const double inverse = 1.0 / (z * z);
    square = inverse * (2.0 - inverse * (10.0 - inverse * (74.0 - inverse * (706.0 - 8162.0 * inverse))));
  }
  return {log_mass, sd * excess, variance * square};
}

Given given_laplace(const Normal& w, double phi, double power) {
  const double rate = std::numbers::sqrt2 * std::exp(-0.5 * phi);
  const Given right = half_line(w.mean, w.variance, power * rate);
  const Given left = half_line(-w.mean, w.variance, power * rate);
  const double highest = std::max(right.log_normaliser, left.log_normaliser);
  const double r = std::exp(right.log_normaliser - highest), l = std::exp(left.log_normaliser - highest);
  return {highest + std::log(r + l) + power * std::log(0.5 * rate), (r * right.mean - l * left.mean) / (r + l),
          (r * right.square + l * left.square) / (r + l)};
}

}  // namespace

TiltedWeight tilted_weight(bool laplace, const Normal& weight, const Normal& scale, double power) {
  const auto given = [&](double phi) {
    return laplace ? given_laplace(weight, phi, power) : given_gaussian(weight, phi, power);
  };
  if (scale.variance == 0.0) {
    const Given all = given(scale.mean);
    return {all.log_normaliser, {all.mean, std::max(0.0, all.square - all.mean * all.mean)}, scale};
  }
  const double sd = std::sqrt(scale.variance);
  // The same number of nodes on both sides, ends included: a node more or less at each call would keep sweeps from
  // settling.
  const auto half = static_cast<Index>(std::ceil(reach * sd / std::min(widest_step * sd, longest_step) - 1e-9));
  const double step = reach * sd / static_cast<double>(half);
  double total = 0.0, phi_mean = 0.0, phi_square = 0.0, w_mean = 0.0, w_square = 0.0;
  double largest = -std::numeric_limits<double>::infinity();
  for (Index q = -half; q <= half; ++q) {
    const double phi = scale.mean + step * static_cast<double>(q);
    if (std::abs(phi) > furthest) continue;
    const double z = (phi - scale.mean) / sd;
    const Given here = given(phi);
    const double log_share = here.log_normaliser - 0.5 * z * z;
    if (log_share > largest) {
      const double shrink = std::exp(largest - log_share);
      total *= shrink;
      phi_mean *= shrink;
      phi_square *= shrink;
      w_mean *= shrink;
      w_square *= shrink;
      largest = log_share;
    }
    const double share = std::exp(log_share - largest);
    total += share;
    phi_mean += share * z;
    phi_square += share * z * z;
    w_mean += share * here.mean;
    w_square += share * here.square;
  }
  phi_mean /= total;
  w_mean /= total;
  const double phi_variance = std::max(0.0, phi_square / total - phi_mean * phi_mean);
  const double w_variance = std::max(0.0, w_square / total - w_mean * w_mean);
  return {largest + std::log(total * step / sd) - log_sqrt_two_pi,
          {w_mean, w_variance},
          {scale.mean + sd * phi_mean, scale.variance * phi_variance}};
}

TiltedOutputWeight tilted_output_weight(const Normal& weight, double scale, double degrees, double power) {
  const double constant = std::numbers::ln2 + log_gamma(0.5 * (degrees + 1.0)) - log_gamma(0.5 * degrees) -
                          0.5 * std::log(degrees * std::numbers::pi) - std::log(scale);
  const auto log_prior = [&](double v) {
    if (v < 0.0) return -std::numeric_limits<double>::infinity();
    const double x = v / scale;
    return constant - 0.5 * (degrees + 1.0) * std::log1p(x * x / degrees);
  };
  const std::array<double, 1> edge{0.0};
  const std::array<Feature, 1> bend{Feature{0.0, scale}};
  const TiltedMoments moments = tilted_moments(log_prior, weight.mean, weight.variance, power, bend, edge);
  return {moments.log_normaliser, {moments.mean, moments.variance}};
}

}  // namespace gaussmith
