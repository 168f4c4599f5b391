#pragma once
// Gamma density of y with mean e^eta: y^(a-1) (a e^-eta)^a exp(-a y e^-eta)/Gamma(a).

#include "sites/atoms/exponential.hpp"
#include "sites/distributions.hpp"
#include "sites/likelihood.hpp"
#include "sites/lognormal.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct Gamma {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "gamma", .response = ResponseKind::positive, .log_concave = true},
            .formula = "y^(shape-1) (shape exp(-eta))^shape exp(-shape y exp(-eta))/Gamma(shape)",
            .summary = "positive response with constant relative spread, log link",
            .arguments = {{.name = "shape", .learnable = true, .help = "inverse of the squared relative spread"}},
            .link = Link::log};
  }

  template <class S>
  static S constant(double y, const std::array<S, 1>& p) {
    using std::log;
    return (p[0] - 1.0) * std::log(y) + p[0] * log(p[0]) - log_gamma(p[0]);
  }
  template <class S>
  static Ridge<ExponentialAtom, S> shape(double y, const std::array<S, 1>& p) {
    using std::log;
    return {-p[0], -1.0, -1.0, log(p[0]) + std::log(y)};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 1>& p) {
    return lognormal_mixture(m, v, 0.0, 1.0 / p[0]);
  }
  static double cdf(double y, double eta, const std::array<double, 1>& p) {
    return gamma_cdf(capped_exp(std::log(p[0]) + std::log(y) - eta), p[0]);
  }
  static Feature cdf_feature(double y, const std::array<double, 1>& p) { return {std::log(y), 1.0 / std::sqrt(p[0])}; }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    return capped_exp(eta + std::log(random.gamma(p[0]) / p[0]));
  }
};

}  // namespace gaussmith::likelihoods
