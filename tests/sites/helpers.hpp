#pragma once
// One-row calls of a block, and plain sums that share no code with the library's quadrature.

#include "gaussmith/sites.hpp"

#include <cmath>
#include <numbers>

namespace gaussmith::testing {

struct Derivatives {
  double value = 0, first = 0, second = 0, third = 0;
};
inline Derivatives log_density(const SiteBlock& block, Index row, double eta) {
  Derivatives d;
  block.log_density(row, {&eta, 1}, {{&d.value, 1}, {&d.first, 1}, {&d.second, 1}, {&d.third, 1}});
  return d;
}
inline double log_value(const SiteBlock& block, Index row, double eta) {
  double value = 0;
  block.log_density(row, {&eta, 1}, {.value = {&value, 1}, .first = {}, .second = {}, .third = {}});
  return value;
}

struct Expectation {
  double value = 0, d_mean = 0, d_variance = 0;
};
inline Expectation expectation(const SiteBlock& block, Index row, double m, double v) {
  Expectation e;
  block.expectation(row, {&m, 1}, {&v, 1}, {{&e.value, 1}, {&e.d_mean, 1}, {&e.d_variance, 1}});
  return e;
}

struct Tilted {
  double log_normaliser = 0, mean = 0, variance = 0;
};
inline Tilted tilted(const SiteBlock& block, Index row, double m, double v, double power) {
  Tilted t;
  block.tilted(row, {&m, 1}, {&v, 1}, power, {{&t.log_normaliser, 1}, {&t.mean, 1}, {&t.variance, 1}});
  return t;
}

struct Response {
  double mean = 0, variance = 0, probability = 0;
};
inline Response response(const SiteBlock& block, Index row, double m, double v) {
  Response r;
  block.response(row, {&m, 1}, {&v, 1}, {{&r.mean, 1}, {&r.variance, 1}, {&r.probability, 1}});
  return r;
}
inline double response_cdf(const SiteBlock& block, Index row, double m, double v, double y) {
  double p = 0;
  block.response_cdf(row, {&m, 1}, {&v, 1}, {&y, 1}, {&p, 1});
  return p;
}
inline double response_quantile(const SiteBlock& block, Index row, double m, double v, double level) {
  double y = 0;
  block.response_quantile(row, {&m, 1}, {&v, 1}, level, {&y, 1});
  return y;
}

/// Trapezoid sum of f over [low, high]: exponentially accurate for analytic f that vanishes at both ends.
template <class F>
double trapezoid(F&& f, double low, double high, int steps) {
  const double h = (high - low) / steps;
  double sum = 0.5 * (f(low) + f(high));
  for (int k = 1; k < steps; ++k) sum += f(low + k * h);
  return sum * h;
}

inline double normal_density(double x, double m, double v) {
  return std::exp(-0.5 * (x - m) * (x - m) / v) / std::sqrt(2 * std::numbers::pi * v);
}

/// Central difference of order 4.
template <class F>
double difference(F&& f, double x, double h) {
  return (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h);
}

}  // namespace gaussmith::testing
