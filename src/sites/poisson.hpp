#pragma once
// Poisson(y | exposure e^eta).

#include "sites/atoms/exponential.hpp"
#include "sites/distributions.hpp"
#include "sites/likelihood.hpp"
#include "sites/lognormal.hpp"
#include "sites/row_arguments.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct Poisson {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "poisson", .response = ResponseKind::count, .log_concave = true},
            .formula = "Poisson(y | exposure exp(eta))",
            .summary = "counts with a known exposure, log link",
            .arguments = {exposure_argument()},
            .link = Link::log};
  }

  template <class S>
  static S constant(double y, const std::array<S, 1>& p) {
    using std::log;
    return y * log(p[0]) - log_gamma(y + 1.0);
  }
  template <class S>
  static Ridge<ExponentialAtom, S> shape(double y, const std::array<S, 1>& p) {
    using std::log;
    return {y, -1.0, 1.0, -log(p[0])};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 1>& p) {
    return lognormal_mixture(m + std::log(p[0]), v, 1.0, 0.0);
  }
  static double cdf(double y, double eta, const std::array<double, 1>& p) {
    return poisson_cdf(y, capped_exp(eta + std::log(p[0])));
  }
  static Feature cdf_feature(double y, const std::array<double, 1>& p) {
    return {std::log((y + 1.0) / p[0]), 1.0 / std::sqrt(y + 1.0)};
  }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    return random.poisson(capped_exp(eta + std::log(p[0])));
  }
};

}  // namespace gaussmith::likelihoods
