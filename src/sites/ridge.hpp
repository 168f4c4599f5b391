#pragma once
// The shape that all catalogued likelihoods share: log t(eta) = constant + slope eta + weight f(scale (eta - centre)),
// with f one of a handful of "atoms" (softplus, exp, log Phi, log(1 + x^2), |x|, x^2). What an atom knows in closed
// form (its Gaussian expectation, its tilted moments, its even part) serves every likelihood built on it; parameters
// enter through the four numbers only, so that a dual number in their place gives the derivatives in a parameter.

#include "gaussmith/types.hpp"
#include "numerics/expectations.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "numerics/tilted_rules.hpp"
#include "sites/dual.hpp"

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

/// f(c x) = c^degree f(x) for c > 0.
template <class Atom>
concept Homogeneous = requires {
  { Atom::degree } -> std::convertible_to<double>;
};

}  // namespace gaussmith
