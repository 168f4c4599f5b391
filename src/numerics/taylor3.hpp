#pragma once
// Truncated Taylor arithmetic: a value and its first three derivatives in one variable. A formula written once for any
// number type gives log t, (log t)', (log t)'' and (log t)''' when called with Taylor3::variable(eta).

#include "numerics/special.hpp"

#include <cmath>
#include <type_traits>

namespace gaussmith {

/// f, f', f'', f''' at one point; Scalar is double, or a dual number that carries one more derivative through.
/// variable(2): square gives {4, 4, 2, 0}.
template <class Scalar>
struct Taylor {
  Scalar value{}, first{}, second{}, third{};

  [[nodiscard]] static Taylor variable(const Scalar& x) { return {x, Scalar(1.0), Scalar(0.0), Scalar(0.0)}; }
};

using Taylor3 = Taylor<double>;

/// f(u) from the derivatives of f at u.value (Faa di Bruno to third order).
template <class S>
[[nodiscard]] Taylor<S> compose(const Taylor<S>& u, const std::type_identity_t<S>& f, const std::type_identity_t<S>& f1,
                                const std::type_identity_t<S>& f2, const std::type_identity_t<S>& f3) {
  return {f, f1 * u.first, f2 * u.first * u.first + f1 * u.second,
          f3 * u.first * u.first * u.first + 3.0 * (f2 * u.first * u.second) + f1 * u.third};
}

template <class S>
[[nodiscard]] Taylor<S> operator-(const Taylor<S>& a) {
  return {-a.value, -a.first, -a.second, -a.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator+(const Taylor<S>& a, const Taylor<S>& b) {
  return {a.value + b.value, a.first + b.first, a.second + b.second, a.third + b.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator-(const Taylor<S>& a, const Taylor<S>& b) {
  return {a.value - b.value, a.first - b.first, a.second - b.second, a.third - b.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator*(const Taylor<S>& a, const Taylor<S>& b) {
  return {a.value * b.value, a.first * b.value + a.value * b.first,
          a.second * b.value + 2.0 * (a.first * b.first) + a.value * b.second,
          a.third * b.value + 3.0 * (a.second * b.first) + 3.0 * (a.first * b.second) + a.value * b.third};
}
template <class S>
[[nodiscard]] Taylor<S> reciprocal(const Taylor<S>& a) {
  const S r = 1.0 / a.value;
  return compose(a, r, -r * r, 2.0 * (r * r * r), -6.0 * (r * r * r * r));
}
template <class S>
[[nodiscard]] Taylor<S> operator/(const Taylor<S>& a, const Taylor<S>& b) {
  return a * reciprocal(b);
}

template <class S>
[[nodiscard]] Taylor<S> operator+(const Taylor<S>& a, const std::type_identity_t<S>& b) {
  return {a.value + b, a.first, a.second, a.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator+(const std::type_identity_t<S>& a, const Taylor<S>& b) {
  return b + a;
}
template <class S>
[[nodiscard]] Taylor<S> operator-(const Taylor<S>& a, const std::type_identity_t<S>& b) {
  return {a.value - b, a.first, a.second, a.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator-(const std::type_identity_t<S>& a, const Taylor<S>& b) {
  return {a - b.value, -b.first, -b.second, -b.third};
}
template <class S>
[[nodiscard]] Taylor<S> operator*(const Taylor<S>& a, const std::type_identity_t<S>& b) {
  return {a.value * b, a.first * b, a.second * b, a.third * b};
}
template <class S>
[[nodiscard]] Taylor<S> operator*(const std::type_identity_t<S>& a, const Taylor<S>& b) {
  return b * a;
}
template <class S>
[[nodiscard]] Taylor<S> operator/(const Taylor<S>& a, const std::type_identity_t<S>& b) {
  return {a.value / b, a.first / b, a.second / b, a.third / b};
}
template <class S>
[[nodiscard]] Taylor<S> operator/(const std::type_identity_t<S>& a, const Taylor<S>& b) {
  return reciprocal(b) * a;
}

template <class S>
[[nodiscard]] Taylor<S> square(const Taylor<S>& a) {
  return compose(a, a.value * a.value, 2.0 * a.value, S(2.0), S(0.0));
}

template <class S>
[[nodiscard]] Taylor<S> exp(const Taylor<S>& a) {
  using std::exp;
  const S e = exp(a.value);
  return compose(a, e, e, e, e);
}

/// log a, a > 0.
template <class S>
[[nodiscard]] Taylor<S> log(const Taylor<S>& a) {
  using std::log;
  const S r = 1.0 / a.value;
  return compose(a, log(a.value), r, -r * r, 2.0 * (r * r * r));
}

/// log(1 + a), a > -1.
template <class S>
[[nodiscard]] Taylor<S> log1p(const Taylor<S>& a) {
  using std::log1p;
  const S r = 1.0 / (1.0 + a.value);
  return compose(a, log1p(a.value), r, -r * r, 2.0 * (r * r * r));
}

/// sqrt a, a > 0.
template <class S>
[[nodiscard]] Taylor<S> sqrt(const Taylor<S>& a) {
  using std::sqrt;
  const S root = sqrt(a.value);
  const S r = 1.0 / a.value;
  return compose(a, root, 0.5 * (root * r), -0.25 * (root * r * r), 0.375 * (root * r * r * r));
}

/// a^power for a constant power, a > 0.
template <class S>
[[nodiscard]] Taylor<S> pow(const Taylor<S>& a, const std::type_identity_t<S>& power) {
  using std::pow;
  const S f = pow(a.value, power);
  const S r = 1.0 / a.value;
  const S f1 = power * f * r;
  const S f2 = (power - 1.0) * f1 * r;
  return compose(a, f, f1, f2, (power - 2.0) * f2 * r);
}

/// |a| with the right-hand derivative at 0.
template <class S>
[[nodiscard]] Taylor<S> abs(const Taylor<S>& a) {
  return a.value < 0.0 ? -a : a;
}

/// log(1 + e^a); at 0: {log 2, 1/2, 1/4, 0}.
template <class S>
[[nodiscard]] Taylor<S> softplus(const Taylor<S>& a) {
  const S up = sigmoid(a.value);
  const S down = sigmoid(-a.value);
  return compose(a, softplus(a.value), up, up * down, up * down * (down - up));
}

/// The same for plain numbers from a single exponential.
[[nodiscard]] inline Taylor3 softplus(const Taylor3& a) {
  const double e = std::exp(-std::abs(a.value));
  const double near = 1.0 / (1.0 + e), far = e * near;
  const double up = a.value < 0.0 ? far : near, down = a.value < 0.0 ? near : far;
  return compose(a, std::log1p(e) + (a.value < 0.0 ? 0.0 : a.value), up, up * down, up * down * (down - up));
}

/// log Phi(a).
[[nodiscard]] inline Taylor3 log_ndtr(const Taylor3& a) {
  const LogNdtrDerivatives f = log_ndtr_derivatives(a.value);
  return compose(a, f.value, f.first, f.second, f.third);
}

}  // namespace gaussmith
