#include "gaussmith/random.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

// Phi^-1(p) for 0 < p <= 1/2: a rational start good to 4.5e-4 (Abramowitz & Stegun 26.2.23) and two Halley steps, each
// of which cubes the error. Relative to p itself, so the far tail is as good as the middle.
double lower_normal_quantile(double p) {
  const double t = std::sqrt(-2.0 * std::log(p));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int step = 0; step < 2; ++step) {
    const double excess = 0.5 * std::erfc(-x / std::numbers::sqrt2) - p;
    const double newton = excess * std::sqrt(2.0 * std::numbers::pi) * std::exp(0.5 * x * x);
    x -= newton / (1.0 + 0.5 * x * newton);
  }
  return x;
}

// log k! for an integer k >= 0. std::lgamma writes a global sign, which is a race between threads.
double log_factorial(double k) {
  double shift = 0.0;
  while (k < 12.0) {
    k += 1.0;
    shift += std::log(k);
  }
  const double r = 1.0 / (k * k);
  const double tail = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r / 1680.0))) / k;
  return (k + 0.5) * std::log(k) - k + 0.5 * std::log(2.0 * std::numbers::pi) + tail - shift;
}

// From here on a rounded normal draw takes over: the skewness is below 4e-5, while the log mass of the rejection step,
// a difference of numbers near mean * log(mean), loses its digits.
constexpr double normal_regime = 1e9;

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) {
    // splitmix64: neighbouring seeds give unrelated states, and never the all-zero one.
    seed += 0x9e3779b97f4a7c15u;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Random::bits() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t carried = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= carried;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Random::uniform() {
  // 52 bits and a half: with 53 the largest value would round to 1.
  return (static_cast<double>(bits() >> 12) + 0.5) * 0x1.0p-52;
}

double Random::normal() {
  const double u = uniform();
  return u < 0.5 ? lower_normal_quantile(u) : -lower_normal_quantile(1.0 - u);
}

double Random::exponential() { return -std::log(uniform()); }

double Random::gamma(double shape) {
  if (shape < 1.0) {
    // Gamma(a) = Gamma(a + 1) U^(1/a); in logarithms, since U^(1/a) underflows for small shapes.
    const double log_boost = std::log(uniform()) / shape;
    return std::exp(std::log(gamma(shape + 1.0)) + log_boost);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  for (;;) {
    const double x = normal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) {
      continue;
    }
    const double v = root * root * root;
    if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

double Random::poisson(double mean) {
  if (mean <= 0.0) {
    return 0.0;
  }
  if (mean < 12.0) {
    // Inversion by sequential search.
    double probability = std::exp(-mean);
    double u = uniform();
    double k = 0.0;
    while (u > probability && k < 200.0) {
      u -= probability;
      k += 1.0;
      probability *= mean / k;
    }
    return k;
  }
  if (mean > normal_regime) {
    return std::floor(mean + std::sqrt(mean) * normal());
  }
  // Transformed rejection with a squeeze-free acceptance (Hormann 1993).
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double log_mean = std::log(mean);
  for (;;) {
    const double u = uniform() - 0.5;
    const double v = uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2.0 * a / us + b) * u + mean + 0.43);
    if (k < 0.0 || (us < 0.013 && v > us)) {
      continue;
    }
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k)) {
      return k;
    }
  }
}

double Random::binomial(double trials, double probability) {
  if (trials <= 0.0 || probability <= 0.0) {
    return 0.0;
  }
  if (probability >= 1.0) {
    return trials;
  }
  if (probability > 0.5) {
    return trials - binomial(trials, 1.0 - probability);
  }
  const double odds = probability / (1.0 - probability);
  if (trials * probability < 10.0) {
    // Inversion by sequential search; (1 - p)^n >= e^-14 here.
    double mass = std::exp(trials * std::log1p(-probability));
    double u = uniform();
    double k = 0.0;
    while (u > mass && k < trials && k < 200.0) {
      u -= mass;
      k += 1.0;
      mass *= odds * (trials - k + 1.0) / k;
    }
    return k;
  }
  const double spread = std::sqrt(trials * probability * (1.0 - probability));
  if (trials * probability > normal_regime) {
    return std::clamp(std::floor(trials * probability + spread * normal()), 0.0, trials);
  }
  // Transformed rejection (Hormann 1993).
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * probability;
  const double c = trials * probability + 0.5;
  const double alpha = (2.83 + 5.1 / b) * spread;
  const double log_odds = std::log(odds);
  const double mode = std::floor((trials + 1.0) * probability);
  const double at_mode = log_factorial(mode) + log_factorial(trials - mode);
  for (;;) {
    const double u = uniform() - 0.5;
    const double v = uniform();
    const double us = 0.5 - std::abs(u);
    const double k = std::floor((2.0 * a / us + b) * u + c);
    if (k < 0.0 || k > trials) {
      continue;
    }
    if (std::log(v * alpha / (a / (us * us) + b)) <=
        at_mode - log_factorial(k) - log_factorial(trials - k) + (k - mode) * log_odds) {
      return k;
    }
  }
}

}  // namespace gaussmith
