#pragma once
// Binomial(y | trials, sigmoid(eta)).

#include "sites/atoms/softplus.hpp"
#include "sites/distributions.hpp"
#include "sites/likelihood.hpp"
#include "sites/logistic_moments.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith::likelihoods {

struct BinomialLogit {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "binomial-logit",
                       .response = ResponseKind::count,
                       .log_concave = true,
                       .super_gaussian = true},
            .formula = "Binomial(y | trials, 1/(1 + exp(-eta)))",
            .summary = "number of successes out of known trials, logistic link",
            .arguments = {{.name = "trials",
                           .kind = ArgumentKind::count,
                           .help = "number of trials of each row",
                           .column = ArgumentColumn{"the number of trials",
                                                    "a number of trials; integers from 1 on are accepted"}}}};
  }

  static std::string response_problem(double y, const std::array<double, 1>& p) {
    return y <= p[0] ? std::string() : fmt::format("a count of at most trials = {}", p[0]);
  }

  template <class S>
  static S constant(double y, const std::array<S, 1>& p) {
    return log_binomial_coefficient(plain(p[0]), y);
  }
  template <class S>
  static Ridge<SoftplusAtom, S> shape(double y, const std::array<S, 1>& p) {
    return {y, -p[0], 1.0, 0.0};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 1>& p) {
    const LogisticMoments s = logistic_moments(m, v);
    return {p[0] * s.mean, p[0] * s.slope + p[0] * p[0] * s.variance()};
  }
  static double cdf(double y, double eta, const std::array<double, 1>& p) { return binomial_cdf(y, p[0], eta); }
  static Feature cdf_feature(double y, const std::array<double, 1>& p) {
    const double successes = y + 0.5, failures = std::max(p[0] - y, 0.0) + 0.5;
    return {std::log(successes / failures), std::sqrt(1.0 / successes + 1.0 / failures)};
  }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    return random.binomial(p[0], sigmoid(eta));
  }
};

}  // namespace gaussmith::likelihoods
