#include "network/activation.hpp"

#include "numerics/gauss_hermite.hpp"
#include "numerics/quadrature.hpp"
#include "numerics/special.hpp"

#include <gtest/gtest.h>

#include <boost/math/special_functions/owens_t.hpp>

#include <array>
#include <cmath>

namespace gaussmith {

namespace {

struct Moments {
  double mean = 0.0, variance = 0.0;
};

Moments moments(double m, double v) {
  Moments out;
  activation_moments({&m, 1}, {&v, 1}, {&out.mean, 1}, {&out.variance, 1});
  return out;
}

}  // namespace

TEST(Activation, MomentsAreThoseOfQuadrature) {
  for (const double m : {-7.0, -1.3, 0.0, 0.2, 2.5})
    for (const double v : {1e-8, 0.01, 0.7, 4.0, 90.0}) {
      const double sd = std::sqrt(v);
      const auto integrand = [&](double z) {
        const double g = std::erf((m + sd * z) / std::sqrt(2.0));
        const double density = std::exp(-0.5 * z * z - log_sqrt_two_pi);
        return std::array<double, 2>{g * density, g * g * density};
      };
      const std::array<double, 5> breaks{-12.0, -2.0, 0.0, 2.0, 12.0};
      const Integral<2> truth = integrate<2>(integrand, breaks);
      const Moments here = moments(m, v);
      EXPECT_NEAR(here.mean, truth.value[0], 1e-12) << m << " " << v;
      EXPECT_NEAR(here.variance, truth.value[1] - truth.value[0] * truth.value[0], 1e-12) << m << " " << v;
    }
}

TEST(Activation, VarianceIsThatOfOwensFunction) {
  for (const double m : {-2.0, 0.3, 1.1})
    for (const double v : {0.05, 1.0, 12.0}) {
      const double b = m / std::sqrt(1.0 + v);
      const double truth = 4.0 * (ndtr(b) * ndtr(-b) - 2.0 * boost::math::owens_t(b, 1.0 / std::sqrt(1.0 + 2.0 * v)));
      EXPECT_NEAR(moments(m, v).variance, truth, 1e-14);
    }
  // Where v is small Var g = g'(m)^2 v, and nothing may cancel.
  const double v = 1e-12;
  const double slope = 2.0 * std::exp(-0.5 * 0.09 - log_sqrt_two_pi);
  EXPECT_NEAR(moments(0.3, v).variance / (slope * slope * v), 1.0, 1e-10);
}

TEST(GaussHermite, IsExactForPolynomials) {
  for (const Index count : {1, 5, 16, 40}) {
    const GaussHermite rule = gauss_hermite(count);
    double moment = 1.0;  // E[x^k] = (k - 1)!! for even k.
    for (int k = 0; k < 2 * count; k += 2) {
      const double value = (rule.weight.array() * rule.node.array().pow(k)).sum();
      EXPECT_NEAR(value / moment, 1.0, 1e-11) << count << " " << k;
      moment *= k + 1;
    }
  }
}

}  // namespace gaussmith
