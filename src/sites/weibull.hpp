#pragma once
// Weibull survival times with rate e^eta: density k e^eta y^(k-1) exp(-e^eta y^k), survival exp(-e^eta y^k).

#include "sites/atoms/exponential.hpp"
#include "sites/likelihood.hpp"
#include "sites/row_arguments.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith::likelihoods {

struct Weibull {
  static constexpr int argument_count = 2;

  static LikelihoodInfo info() {
    return {.traits = {.name = "weibull", .response = ResponseKind::positive, .log_concave = true},
            .formula = "shape exp(eta) y^(shape-1) exp(-exp(eta) y^shape); censored rows: exp(-exp(eta) y^shape)",
            .summary = "survival times with a rising or falling hazard, right-censored or not",
            .arguments = {{.name = "shape", .learnable = true, .help = "above 1 the hazard rises with time"},
                          censored_argument()},
            .link = Link::rate};
  }

  template <class S>
  static S constant(double y, const std::array<S, 2>& p) {
    using std::log;
    return (1.0 - p[1]) * (log(p[0]) + (p[0] - 1.0) * std::log(y));
  }
  template <class S>
  static Ridge<ExponentialAtom, S> shape(double y, const std::array<S, 2>& p) {
    return {1.0 - p[1], -1.0, 1.0, -(p[0] * std::log(y))};
  }

  /// Of the time itself, censored or not: E = Gamma(1 + 1/k) exp(-m/k + v/(2 k^2)).
  static ResponseMoments response(double m, double v, const std::array<double, 2>& p) {
    const double r = 1.0 / p[0];
    const double log_mean = log_gamma(1.0 + r) - m * r + 0.5 * v * r * r;
    const double log_ratio = log_gamma(1.0 + 2.0 * r) - 2.0 * log_gamma(1.0 + r) + v * r * r;
    // E[Y^2]/E[Y]^2 - 1 = expm1(log_ratio), in logarithms against overflow.
    const double log_relative = log_ratio + std::log(-std::expm1(-log_ratio));
    return {capped_exp(log_mean), capped_exp(2.0 * log_mean + log_relative)};
  }
  static double cdf(double y, double eta, const std::array<double, 2>& p) {
    return -std::expm1(-capped_exp(eta + p[0] * std::log(y)));
  }
  static Feature cdf_feature(double y, const std::array<double, 2>& p) { return {-p[0] * std::log(y), 1.0}; }
  static double sample(double eta, const std::array<double, 2>& p, Random& random) {
    return capped_exp((std::log(random.exponential()) - eta) / p[0]);
  }
};

}  // namespace gaussmith::likelihoods
