#pragma once
// exp(-|y - eta|/scale)/(2 scale).

#include "sites/atoms/absolute.hpp"
#include "sites/likelihood.hpp"

#include <cmath>

namespace gaussmith::likelihoods {

struct Laplace {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "laplace", .log_concave = true, .super_gaussian = true, .smooth = false},
            .formula = "exp(-|y - eta|/scale)/(2 scale)",
            .summary = "real response with heavy tails, or a sparsity prior with y = 0",
            .arguments = {{.name = "scale",
                           .learnable = true,
                           .help = "mean absolute deviation",
                           .role = ArgumentRole::noise_scale}},
            .link = Link::identity};
  }

  template <class S>
  static S constant(double, const std::array<S, 1>& p) {
    using std::log;
    return -log(2.0 * p[0]);
  }
  template <class S>
  static Ridge<AbsoluteAtom, S> shape(double y, const std::array<S, 1>& p) {
    return {0.0, -1.0, 1.0 / p[0], y};
  }

  static ResponseMoments response(double m, double v, const std::array<double, 1>& p) {
    return {m, v + 2.0 * p[0] * p[0]};
  }
  static double cdf(double y, double eta, const std::array<double, 1>& p) {
    const double x = (y - eta) / p[0];
    return x < 0.0 ? 0.5 * std::exp(x) : 1.0 - 0.5 * std::exp(-x);
  }
  static Feature cdf_feature(double y, const std::array<double, 1>& p) { return {y, p[0]}; }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    const double size = random.exponential();
    return random.uniform() < 0.5 ? eta - p[0] * size : eta + p[0] * size;
  }
};

}  // namespace gaussmith::likelihoods
