#pragma once
// Student-t density of y with location eta.

#include "sites/atoms/log1p_square.hpp"
#include "sites/distributions.hpp"
#include "sites/likelihood.hpp"

#include <cmath>
#include <numbers>

namespace gaussmith::likelihoods {

/// log Gamma(z + 1/2) - log Gamma(z), z > 0; the two log gammas cancel for large z, so a series takes over at 60.
template <class S>
[[nodiscard]] S log_gamma_half_step(const S& z) {
  using std::log;
  if (z < S(60.0)) {
    return log_gamma(z + 0.5) - log_gamma(z);
  }
  const S r = 1.0 / (z * z);
  return 0.5 * log(z) - (0.125 - r * (1.0 / 192.0 - r * (1.0 / 640.0 - r * (17.0 / 14336.0)))) / z;
}

struct StudentT {
  static constexpr int argument_count = 2;

  static LikelihoodInfo info() {
    return {.traits = {.name = "student-t", .super_gaussian = true},
            .formula = "t_nu(y | eta, scale)",
            .summary = "real response with outliers",
            .arguments =
                {{.name = "nu", .learnable = true, .help = "degrees of freedom", .starting_value = 4.0},
                 {.name = "scale", .learnable = true, .help = "scale of the noise", .role = ArgumentRole::noise_scale}},
            .link = Link::identity};
  }

  template <class S>
  static S constant(double, const std::array<S, 2>& p) {
    using std::log;
    return log_gamma_half_step(0.5 * p[0]) - 0.5 * log(std::numbers::pi * p[0]) - log(p[1]);
  }
  template <class S>
  static Ridge<Log1pSquareAtom, S> shape(double y, const std::array<S, 2>& p) {
    using std::sqrt;
    return {0.0, -0.5 * (p[0] + 1.0), 1.0 / (p[1] * sqrt(p[0])), y};
  }

  /// The mean exists for nu > 1 and the variance for nu > 2.
  static ResponseMoments response(double m, double v, const std::array<double, 2>& p) {
    const double nu = p[0], scale = p[1];
    return {nu > 1.0 ? m : not_a_number, nu > 2.0 ? v + scale * scale * nu / (nu - 2.0) : not_a_number};
  }
  static double cdf(double y, double eta, const std::array<double, 2>& p) {
    return student_t_cdf((y - eta) / p[1], p[0]);
  }
  static Feature cdf_feature(double y, const std::array<double, 2>& p) { return {y, p[1]}; }
  static double sample(double eta, const std::array<double, 2>& p, Random& random) {
    const double z = random.normal();
    return eta + p[1] * z / std::sqrt(2.0 * random.gamma(0.5 * p[0]) / p[0]);
  }
};

}  // namespace gaussmith::likelihoods
