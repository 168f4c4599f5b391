#include "numerics/special.hpp"

#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

using boost::math::policies::domain_error;
using boost::math::policies::ignore_error;
using boost::math::policies::overflow_error;
using boost::math::policies::pole_error;
// Out-of-range arguments give infinities or NaN as in <cmath>; exceptions belong to the callers who know the row.
using Quiet =
    boost::math::policies::policy<domain_error<ignore_error>, overflow_error<ignore_error>, pole_error<ignore_error>>;

constexpr double inverse_sqrt_two = 0.70710678118654752440;
constexpr double sqrt_two_over_pi = 0.79788456080286535588;
constexpr double inverse_sqrt_two_pi = 0.39894228040143267794;
constexpr double inverse_sqrt_pi = 0.56418958354775628695;

// e^(-x^2/2): the rounding error of x^2 would otherwise be magnified x^2/2 times.
double half_square_exp(double x) {
  const double square = x * x;
  if (!(square < 1500.0)) return 0.0;
  return std::exp(-0.5 * square) * (1.0 - 0.5 * std::fma(x, x, -square));
}

// Continued fraction of the inverse Mills ratio: phi(y)/Phi(-y) = y + 1/(y + 2/(y + 3/(y + ...))), y > 0, and its
// tails. After n terms the error is about exp(-2 y sqrt(2 n)).
struct MillsFraction {
  double first, second, third, fourth;
};
MillsFraction mills_fraction(double y) {
  // The bound also keeps an argument that is not a number from counting forever.
  const int terms = 24 + static_cast<int>(std::fmin(200.0 / (y * y), 1e4));
  double tail = 2.0 * terms / (y + std::sqrt(y * y + 4.0 * terms));
  for (int k = terms - 1; k > 4; --k) tail = k / (y + tail);
  MillsFraction f{};
  f.fourth = 4.0 / (y + tail);
  f.third = 3.0 / (y + f.fourth);
  f.second = 2.0 / (y + f.third);
  f.first = 1.0 / (y + f.second);
  return f;
}

// log Gamma(x + 1) - (x + 1/2) log x + x - log sqrt(2 pi), the error of Stirling's formula.
double stirling_error(double x) {
  if (x < 16.0) return log_gamma(x + 1.0) - (x + 0.5) * std::log(x) + x - log_sqrt_two_pi;
  const double z = 1.0 / (x * x);
  return (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188 - z * 691.0 / 360360))))) / x;
}

}  // namespace

double erfcx(double x) {
  if (x < 25.0) {
    const double square = x * x;
    if (square > 720.0) return std::numeric_limits<double>::infinity();
    return std::exp(square) * (1.0 + std::fma(x, x, -square)) * std::erfc(x);
  }
  const double z = 0.5 / (x * x);
  return inverse_sqrt_pi / x * (1.0 - z * (1.0 - 3.0 * z * (1.0 - 5.0 * z * (1.0 - 7.0 * z * (1.0 - 9.0 * z)))));
}

double ndtr(double x) {
  if (x > -1.0) return 0.5 * std::erfc(-x * inverse_sqrt_two);
  return 0.5 * erfcx(-x * inverse_sqrt_two) * half_square_exp(x);
}

double log_ndtr(double x) {
  if (x > -1.0) return std::log1p(-ndtr(-x));
  // Where x^2/2 overflows the limit is -inf and no difference of infinities is formed.
  return std::log(0.5 * erfcx(-x * inverse_sqrt_two)) - 0.5 * x * x;
}

double mills(double x) {
  if (x < 0.0) return sqrt_two_over_pi / erfcx(-x * inverse_sqrt_two);
  return inverse_sqrt_two_pi * half_square_exp(x) / ndtr(x);
}

LogNdtrDerivatives log_ndtr_derivatives(double x) {
  LogNdtrDerivatives d{};
  d.value = log_ndtr(x);
  if (x > -2.5) {
    const double r = mills(x);
    d.first = r;
    if (r == 0.0) return d;  // x^2 may be infinite.
    d.second = -r * (x + r);
    d.third = r * (x * x - 1.0 + 3.0 * x * r + 2.0 * r * r);
    return d;
  }
  // x + r and x^2 - 1 + 3 x r + 2 r^2 vanish like 1/y and 2/y^4; the fraction gives them as products.
  const double y = -x;
  const MillsFraction f = mills_fraction(y);
  d.first = y + f.first;
  d.second = -d.first * f.first;
  d.third = 2.0 * d.first * f.first * (f.first * ((f.third - f.second) / (y + f.third)));
  return d;
}

double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

double log_sigmoid(double x) { return -softplus(-x); }

double sigmoid(double x) {
  if (x >= 0.0) return 1.0 / (1.0 + std::exp(-x));
  const double e = std::exp(x);
  return e / (1.0 + e);
}

double normal_log_density(double x, double mean, double variance) {
  const double z = (x - mean) / std::sqrt(variance);
  return -0.5 * z * z - 0.5 * std::log(variance) - log_sqrt_two_pi;
}

double normal_quantile(double p) { return -boost::math::erfc_inv(2.0 * p, Quiet()) / inverse_sqrt_two; }

double log_gamma(double x) { return boost::math::lgamma(x, Quiet()); }

double digamma(double x) { return boost::math::digamma(x, Quiet()); }

double trigamma(double x) { return boost::math::trigamma(x, Quiet()); }

double log_binomial_coefficient(double n, double k) {
  const double small = k <= n - k ? k : n - k;
  if (small <= 0.0) return 0.0;
  const double large = n - small;
  // Stirling's formula with its error: the terms of size n log n cancel by algebra, not by subtraction.
  return small * std::log(n / small) - large * std::log1p(-small / n) +
         0.5 * std::log(n / (6.28318530717958647693 * small * large)) + stirling_error(n) - stirling_error(small) -
         stirling_error(large);
}

}  // namespace gaussmith
