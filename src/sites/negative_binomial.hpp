#pragma once
// Negative binomial with mean mu = exposure e^eta and variance mu + mu^2/shape.

#include "sites/atoms/softplus.hpp"
#include "sites/distributions.hpp"
#include "sites/likelihood.hpp"
#include "sites/lognormal.hpp"
#include "sites/row_arguments.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

/// log Gamma(y + r)/(Gamma(r) y!), without the cancellation of large log gammas for r >= 1.
[[nodiscard]] inline double log_rising_coefficient(double y, double r) {
  return r >= 1.0 ? log_binomial_coefficient(y + r - 1.0, y) : log_gamma(y + r) - log_gamma(r) - log_gamma(y + 1.0);
}
[[nodiscard]] inline Dual log_rising_coefficient(double y, const Dual& r) {
  return {log_rising_coefficient(y, r.value), (digamma(y + r.value) - digamma(r.value)) * r.derivative};
}

struct NegativeBinomial {
  static constexpr int argument_count = 2;

  static LikelihoodInfo info() {
    return {.traits = {.name = "negative-binomial",
                       .response = ResponseKind::count,
                       .log_concave = true,
                       .super_gaussian = true},
            .formula = "NegativeBinomial(y | mean mu = exposure exp(eta), variance mu + mu^2/shape)",
            .summary = "over-dispersed counts with a known exposure, log link",
            .arguments = {{.name = "shape", .learnable = true, .help = "inverse over-dispersion"}, exposure_argument()},
            .link = Link::log};
  }

  // log(shape + mu) = log shape + softplus(eta - centre), centre = log(shape/exposure).
  template <class S>
  static S centre(const std::array<S, 2>& p) {
    using std::log;
    return log(p[0] / p[1]);
  }
  template <class S>
  static S constant(double y, const std::array<S, 2>& p) {
    return log_rising_coefficient(y, p[0]) - y * centre(p);
  }
  template <class S>
  static Ridge<SoftplusAtom, S> shape(double y, const std::array<S, 2>& p) {
    return {y, -(y + p[0]), 1.0, centre(p)};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 2>& p) {
    return lognormal_mixture(m + std::log(p[1]), v, 1.0, 1.0 / p[0]);
  }
  static double cdf(double y, double eta, const std::array<double, 2>& p) {
    return negative_binomial_cdf(y, p[0], eta - centre(p));
  }
  static Feature cdf_feature(double y, const std::array<double, 2>& p) {
    return {std::log((y + 1.0) / p[1]), std::sqrt(1.0 / (y + 1.0) + 1.0 / p[0])};
  }
  static double sample(double eta, const std::array<double, 2>& p, Random& random) {
    const double mean = capped_exp(eta + std::log(p[1]));
    return random.poisson(std::min(random.gamma(p[0]) / p[0] * mean, capped_exp(700.0)));
  }
};

}  // namespace gaussmith::likelihoods
