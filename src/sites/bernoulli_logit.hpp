#pragma once
// 1/(1 + e^(-y eta)), y in {-1, 1}.

#include "sites/atoms/softplus.hpp"
#include "sites/likelihood.hpp"
#include "sites/logistic_moments.hpp"

namespace gaussmith::likelihoods {

struct BernoulliLogit {
  static constexpr int argument_count = 0;

  static LikelihoodInfo info() {
    return {.traits = {.name = "bernoulli-logit",
                       .response = ResponseKind::sign,
                       .log_concave = true,
                       .super_gaussian = true},
            .formula = "1/(1 + exp(-y eta)), y in {-1, 1}",
            .summary = "binary response, logistic link",
            .arguments = {}};
  }

  template <class S>
  static S constant(double, const std::array<S, 0>&) {
    return 0.0;
  }
  template <class S>
  static Ridge<SoftplusAtom, S> shape(double y, const std::array<S, 0>&) {
    return {0.0, -1.0, -y, 0.0};
  }

  static double probability(double m, double v, const std::array<double, 0>&) { return logistic_moments(m, v).mean; }
  static double sample(double eta, const std::array<double, 0>&, Random& random) {
    return random.uniform() < sigmoid(eta) ? 1.0 : -1.0;
  }
};

}  // namespace gaussmith::likelihoods
