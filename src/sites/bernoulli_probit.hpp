#pragma once
// Phi(y eta), y in {-1, 1}.

#include "sites/atoms/log_ndtr.hpp"
#include "sites/likelihood.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct BernoulliProbit {
  static constexpr int argument_count = 0;

  static LikelihoodInfo info() {
    return {.traits = {.name = "bernoulli-probit", .response = ResponseKind::sign, .log_concave = true},
            .formula = "Phi(y eta), y in {-1, 1}",
            .summary = "binary response, probit link",
            .arguments = {}};
  }

  template <class S>
  static S constant(double, const std::array<S, 0>&) {
    return 0.0;
  }
  template <class S>
  static Ridge<LogNdtrAtom, S> shape(double y, const std::array<S, 0>&) {
    return {0.0, 1.0, y, 0.0};
  }

  static double probability(double m, double v, const std::array<double, 0>&) { return ndtr(m / std::sqrt(1.0 + v)); }
  static double sample(double eta, const std::array<double, 0>&, Random& random) {
    return random.uniform() < ndtr(eta) ? 1.0 : -1.0;
  }
};

}  // namespace gaussmith::likelihoods
