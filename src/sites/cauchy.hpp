#pragma once
// Cauchy density of y with location eta.

#include "sites/atoms/log1p_square.hpp"
#include "sites/likelihood.hpp"

#include <cmath>
#include <numbers>

namespace gaussmith::likelihoods {

struct Cauchy {
  static constexpr int argument_count = 1;

  static LikelihoodInfo info() {
    return {.traits = {.name = "cauchy", .super_gaussian = true},
            .formula = "1/(pi scale (1 + ((y - eta)/scale)^2))",
            .summary = "real response with extreme outliers",
            .arguments = {{.name = "scale",
                           .learnable = true,
                           .help = "half width at half height",
                           .role = ArgumentRole::noise_scale}},
            .link = Link::identity};
  }

  template <class S>
  static S constant(double, const std::array<S, 1>& p) {
    using std::log;
    return -log(std::numbers::pi * p[0]);
  }
  template <class S>
  static Ridge<Log1pSquareAtom, S> shape(double y, const std::array<S, 1>& p) {
    return {0.0, -1.0, 1.0 / p[0], y};
  }

  static ResponseMoments response(double, double, const std::array<double, 1>&) { return {not_a_number, not_a_number}; }
  /// atan2 keeps the left tail: P -> scale/(pi (eta - y)).
  static double cdf(double y, double eta, const std::array<double, 1>& p) {
    return std::atan2(p[0], eta - y) * std::numbers::inv_pi;
  }
  static Feature cdf_feature(double y, const std::array<double, 1>& p) { return {y, p[0]}; }
  static double sample(double eta, const std::array<double, 1>& p, Random& random) {
    return eta + p[0] * std::tan(std::numbers::pi * (random.uniform() - 0.5));
  }
};

}  // namespace gaussmith::likelihoods
