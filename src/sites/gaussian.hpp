#pragma once
// N(y | eta, variance).

#include "sites/atoms/square.hpp"
#include "sites/likelihood.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct Gaussian {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "gaussian", .log_concave = true, .super_gaussian = true, .gaussian = true},
            .formula = "N(y | eta, variance)",
            .summary = "real response with normal noise",
            .arguments = {{.name = "variance",
                           .learnable = true,
                           .help = "noise variance",
                           .role = ArgumentRole::noise_variance}},
            .link = Link::identity};
  }

  template <class S>
  static S constant(double, const std::array<S, 1>& p) {
    using std::log;
    return -0.5 * log(p[0]) - log_sqrt_two_pi;
  }
  template <class S>
  static Ridge<SquareAtom, S> shape(double y, const std::array<S, 1>& p) {
    using std::sqrt;
    return {0.0, -0.5, 1.0 / sqrt(p[0]), y};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 1>& p) { return {m, v + p[0]}; }
  static double marginal_cdf(double y, double m, double v, const std::array<double, 1>& p) {
    return ndtr((y - m) / std::sqrt(v + p[0]));
  }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    return eta + std::sqrt(p[0]) * random.normal();
  }
};

}  // namespace gaussmith::likelihoods
