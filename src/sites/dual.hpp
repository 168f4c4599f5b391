#pragma once
// A value and its derivative in the logarithm of one parameter, carried through the formulas of the likelihoods.

#include "numerics/special.hpp"

#include <cmath>

namespace gaussmith {

/// a + a' epsilon with epsilon^2 = 0. parameter(3) is {3, 3}: d theta / d log theta = theta.
struct Dual {
  double value = 0.0;
  double derivative = 0.0;

  constexpr Dual() = default;
  constexpr Dual(double constant) : value(constant) {}  // implicit: constants mix with duals in formulas
  constexpr Dual(double v, double d) : value(v), derivative(d) {}

  [[nodiscard]] static constexpr Dual parameter(double theta) { return {theta, theta}; }
};

[[nodiscard]] constexpr Dual operator-(const Dual& a) { return {-a.value, -a.derivative}; }
[[nodiscard]] constexpr Dual operator+(const Dual& a, const Dual& b) {
  return {a.value + b.value, a.derivative + b.derivative};
}
[[nodiscard]] constexpr Dual operator-(const Dual& a, const Dual& b) {
  return {a.value - b.value, a.derivative - b.derivative};
}
[[nodiscard]] constexpr Dual operator*(const Dual& a, const Dual& b) {
  return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
}
[[nodiscard]] constexpr Dual operator/(const Dual& a, const Dual& b) {
  const double ratio = a.value / b.value;
  return {ratio, (a.derivative - ratio * b.derivative) / b.value};
}
[[nodiscard]] constexpr bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }

[[nodiscard]] inline Dual exp(const Dual& a) {
  const double e = std::exp(a.value);
  return {e, e * a.derivative};
}
[[nodiscard]] inline Dual log(const Dual& a) { return {std::log(a.value), a.derivative / a.value}; }
[[nodiscard]] inline Dual log1p(const Dual& a) { return {std::log1p(a.value), a.derivative / (1.0 + a.value)}; }
[[nodiscard]] inline Dual sqrt(const Dual& a) {
  const double root = std::sqrt(a.value);
  return {root, 0.5 * a.derivative / root};
}
[[nodiscard]] inline Dual abs(const Dual& a) { return a.value < 0.0 ? -a : a; }
[[nodiscard]] inline Dual square(const Dual& a) { return a * a; }
[[nodiscard]] inline Dual sigmoid(const Dual& a) {
  const double up = sigmoid(a.value);
  return {up, up * sigmoid(-a.value) * a.derivative};
}
[[nodiscard]] inline Dual softplus(const Dual& a) { return {softplus(a.value), sigmoid(a.value) * a.derivative}; }
[[nodiscard]] inline Dual log_gamma(const Dual& a) { return {log_gamma(a.value), digamma(a.value) * a.derivative}; }

[[nodiscard]] inline double square(double a) { return a * a; }

/// The part of a number that does not depend on the parameter.
[[nodiscard]] inline double plain(double a) { return a; }
[[nodiscard]] inline double plain(const Dual& a) { return a.value; }

}  // namespace gaussmith
