#pragma once
// Exponential survival times with mean e^eta: density e^-eta exp(-y e^-eta), survival exp(-y e^-eta).

#include "sites/atoms/exponential.hpp"
#include "sites/likelihood.hpp"
#include "sites/lognormal.hpp"
#include "sites/row_arguments.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct Exponential {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "exponential", .response = ResponseKind::positive, .log_concave = true},
            .formula = "exp(-eta) exp(-y exp(-eta)); censored rows: exp(-y exp(-eta))",
            .summary = "survival times with a constant hazard, right-censored or not",
            .arguments = {censored_argument()},
            .link = Link::log};
  }

  template <class S>
  static S constant(double, const std::array<S, 1>&) {
    return 0.0;
  }
  template <class S>
  static Ridge<ExponentialAtom, S> shape(double y, const std::array<S, 1>& p) {
    return {p[0] - 1.0, -1.0, -1.0, std::log(y)};
  }

  /// Of the time itself, censored or not.
  static ResponseMoments response(double m, double v, const std::array<double, 1>&) {
    return lognormal_mixture(m, v, 0.0, 1.0);
  }
  static double cdf(double y, double eta, const std::array<double, 1>&) {
    return -std::expm1(-capped_exp(std::log(y) - eta));
  }
  static Feature cdf_feature(double y, const std::array<double, 1>&) { return {std::log(y), 1.0}; }
  static double sample(double eta, const std::array<double, 1>&, Random& random) {
    return capped_exp(eta + std::log(random.exponential()));
  }
};

}  // namespace gaussmith::likelihoods
