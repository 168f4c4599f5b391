#pragma once
// The shape that all catalogued likelihoods share: log t(eta) = constant + slope eta + weight f(scale (eta - centre)),
// with f one of a handful of "atoms" (softplus, exp, log Phi, log(1 + x^2), |x|, x^2). What an atom knows in closed
// form (its Gaussian expectation, its tilted moments, its even part) serves every likelihood built on it; parameters
// enter through the four numbers only, so that a dual number in their place gives the derivatives in a parameter.

#include "gaussmith/types.hpp"
#include "numerics/expectations.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "numerics/special.hpp"
#include "numerics/tilted_rules.hpp"
#include "sites/dual.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>

namespace gaussmith {

/// A function of eta given by an atom and four numbers; Scalar is double or Dual.
template <class Atom, class Scalar>
struct Ridge {
  Scalar slope, weight, scale, centre;

  template <class Real>
  [[nodiscard]] Real operator()(const Real& eta) const {
    return slope * eta + weight * Atom::value(scale * (eta - centre));
  }

  /// Where and on which scale the function varies: hints for quadrature.
  [[nodiscard]] Feature feature() const { return {plain(centre), 1.0 / std::abs(plain(scale))}; }

  /// Where it is not smooth.
  [[nodiscard]] auto kinks() const {
    if constexpr (requires { requires Atom::kink_at_zero; }) {
      return std::array<double, 1>{plain(centre)};
    } else {
      return std::array<double, 0>{};
    }
  }
};

/// How an even atom (or an even one plus x/2) looks as a function of x^2: value and two derivatives in x^2.
struct EvenPart {
  double value, first, second;
};

/// Tilted moments of x ~ N(mean, variance) exp(weight f(x)), and the expectation of f under them.
struct AtomTilted {
  double log_normaliser, mean, variance, expected;
};

/// E[f], E[f'], E[f'']/2 of whole spans in closed form or by a dedicated rule.
template <class Atom>
concept HasExpectation = requires(ConstSpan mean, ConstSpan variance, const ExpectationSpans& out) {
  Atom::expectation(mean, variance, out);
};

/// f(x) = odd_slope x + e(x^2), with -weight e convex and decreasing in x^2: the super-Gaussian form.
template <class Atom>
concept HasEvenPart = requires(double x_squared) {
  { Atom::even(x_squared) } -> std::same_as<EvenPart>;
  { Atom::odd_slope } -> std::convertible_to<double>;
};

/// Tilted moments in closed form, for the weights that can_tilt() accepts.
template <class Atom>
concept HasTilted = requires(double mean, double variance, double weight) {
  { Atom::can_tilt(weight) } -> std::same_as<bool>;
  { Atom::tilted(mean, variance, weight) } -> std::same_as<AtomTilted>;
};

/// Tilted moments by a fixed rule that knows when it is not enough.
template <class Atom>
concept HasTiltedRule = requires(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
  { Atom::tilted_rule(row, moments, nodes) } -> std::same_as<bool>;
};

/// A conjugate and where it is attained.
struct AtomConjugate {
  double value, mean, deviation;
};

/// The conjugate of -weight E[f] in the mean and the deviation of x, for weight < 0, in closed form.
template <class Atom>
concept HasConjugate = requires(double slope, double growth, double strength) {
  { Atom::conjugate(slope, growth, strength) } -> std::same_as<AtomConjugate>;
};

/// The largest growth at which it is finite.
template <class Atom>
concept HasConjugateLimit = requires(double slope, double strength) {
  { Atom::conjugate_limit(slope, strength) } -> std::same_as<double>;
};

/// strength phi(Phi^-1(c)): how fast strength E|.|, or another function whose slopes at both ends differ by `strength`,
/// may grow in the deviation where a share c of that difference lies to the left. A share outside [0, 1] gives -1,
/// apart from its rounding.
[[nodiscard]] inline double growth_limit(double share, double strength) {
  constexpr double blur = 1e-15;
  const double smaller = std::min(share, 1.0 - share) + blur;
  if (!(smaller >= 0.0)) return -1.0;
  const double z = normal_quantile(smaller);
  return strength * std::exp(-0.5 * z * z - log_sqrt_two_pi);
}

/// f(c x) = c^degree f(x) for c > 0.
template <class Atom>
concept Homogeneous = requires {
  { Atom::degree } -> std::convertible_to<double>;
};

}  // namespace gaussmith
