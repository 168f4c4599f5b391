#include "sites/distributions.hpp"

#include "numerics/special.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

using namespace boost::math::policies;
// Errors become values, never exceptions: the callers clamp.
using Quiet = policy<domain_error<ignore_error>, pole_error<ignore_error>, overflow_error<ignore_error>,
                     underflow_error<ignore_error>, evaluation_error<ignore_error>, promote_double<false>>;

// Beyond this the series and continued fractions need up to millions of terms; asymptotic forms take over.
constexpr double large_shape = 1e6;

double probability(double p) { return std::isnan(p) ? 0.0 : std::clamp(p, 0.0, 1.0); }

// P(G > x) for G ~ gamma(a), a large: the uniform expansion Q = erfc(u sqrt(a/2))/2 + e^(-a u^2/2)/sqrt(2 pi a) c(u)
// with u^2/2 = l - 1 - log l, l = x/a, and c = 1/(l - 1) - 1/u -> -1/3. Its error is below 1e-2 a^(-3/2).
double large_gamma_q(double a, double x) {
  const double excess = (x - a) / a;
  const double half_square = std::max(0.0, excess - std::log1p(excess));
  const double u = std::copysign(std::sqrt(2.0 * half_square), excess);
  const double c = std::abs(u) < 1e-2 ? -1.0 / 3.0 + u * (1.0 / 12.0 - u * (2.0 / 135.0)) : 1.0 / excess - 1.0 / u;
  return 0.5 * std::erfc(u * std::sqrt(0.5 * a)) +
         c * std::exp(-a * half_square) / std::sqrt(2.0 * std::numbers::pi * a);
}

double gamma_q(double a, double x) {
  return a > large_shape ? large_gamma_q(a, x) : boost::math::gamma_q(a, x, Quiet());
}
double gamma_p(double a, double x) {
  return a > large_shape ? 1.0 - large_gamma_q(a, x) : boost::math::gamma_p(a, x, Quiet());
}

// I_x(a, b) for a and b large, x = sigmoid(eta): the normal approximation of Peizer and Pratt.
double large_beta(double a, double b, double eta) {
  const double x = sigmoid(eta), y = sigmoid(-eta);
  const double n = a + b - 1.0;
  const double s = b - 0.5, t = a - 0.5;
  const double d = (b - 1.0 / 3.0) - (n + 1.0 / 3.0) * y + 0.02 * (x / b - y / a + (x - 0.5) / (n + 1.0));
  // s log(s/(n y)) + t log(t/(n x)) = n g, written with log1p since both logarithms vanish at the centre.
  const double gap = s - n * y;
  const double deviance = s * std::log1p(gap / (n * y)) + t * std::log1p(-gap / (n * x));
  if (gap == 0.0 || !(deviance > 0.0)) return 0.5;
  const double z = d / std::abs(gap) * std::sqrt(2.0 * deviance / (1.0 + 1.0 / (6.0 * n)));
  return ndtr(std::isnan(z) ? 0.0 : z);
}

// I_{sigmoid(eta)}(a, b).
double logistic_beta(double a, double b, double eta) {
  const double small = std::min(a, b), large = std::max(a, b);
  if (large <= large_shape) {
    // From the smaller of the two tails.
    return eta < 0.0 ? boost::math::ibeta(a, b, sigmoid(eta), Quiet())
                     : boost::math::ibetac(b, a, sigmoid(-eta), Quiet());
  }
  if (small > 1e-3 * large) return large_beta(a, b, eta);
  // One shape dwarfs the other: -log(1 - X) is a gamma variable divided by b + (a - 1)/2 (Wise).
  const double divisor = large + 0.5 * (small - 1.0);
  return a < b ? gamma_p(a, divisor * softplus(eta)) : gamma_q(b, divisor * softplus(-eta));
}

}  // namespace

double poisson_cdf(double k, double mean) {
  if (mean <= 0.0) return 1.0;
  return probability(gamma_q(k + 1.0, mean));
}

double binomial_cdf(double k, double trials, double eta) {
  if (k >= trials) return 1.0;
  return probability(logistic_beta(trials - k, k + 1.0, -eta));
}

double negative_binomial_cdf(double k, double shape, double eta) {
  return probability(logistic_beta(shape, k + 1.0, -eta));
}

double student_t_cdf(double x, double nu) {
  return probability(boost::math::cdf(boost::math::students_t_distribution<double, Quiet>(nu), x));
}

double gamma_cdf(double x, double shape) {
  if (x <= 0.0) return 0.0;
  return probability(gamma_p(shape, x));
}

}  // namespace gaussmith
