#pragma once
// What a likelihood's header gives to the adaptor: its catalogue line, the part of log t that depends on eta ("shape"),
// the rest ("constant", computed once a row), and the response given eta. Closed forms are optional.

#include "gaussmith/sites.hpp"
#include "numerics/gaussian_integrals.hpp"
#include "sites/dual.hpp"

#include <array>
#include <concepts>
#include <limits>
#include <string>

namespace gaussmith {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// One value for each argument of a likelihood, in the order of its catalogue line.
template <class L, class Scalar = double>
using Arguments = std::array<Scalar, static_cast<std::size_t>(L::argument_count)>;

/// Mean and variance of a response; NaN where they do not exist.
struct ResponseMoments {
  double mean, variance;
};

/// Optional: why a response does not go with the row's arguments; empty if it does.
template <class L>
concept HasResponseCheck = requires(double y, const Arguments<L>& p) {
  { L::response_problem(y, p) } -> std::same_as<std::string>;
};

/// Moments of the response in closed form when eta ~ N(m, v).
template <class L>
concept HasResponseMoments = requires(double m, double v, const Arguments<L>& p) {
  { L::response(m, v, p) } -> std::same_as<ResponseMoments>;
};

/// P(y = 1) when eta ~ N(m, v): all there is to know about responses -1 and 1.
template <class L>
concept HasProbability = requires(double m, double v, const Arguments<L>& p) {
  { L::probability(m, v, p) } -> std::same_as<double>;
};

/// P(Y <= y) given eta, and where it falls from 1 to 0 as a function of eta.
template <class L>
concept HasConditionalCdf = requires(double y, double eta, const Arguments<L>& p) {
  { L::cdf(y, eta, p) } -> std::same_as<double>;
  { L::cdf_feature(y, p) } -> std::same_as<Feature>;
};

/// P(Y <= y) in closed form when eta ~ N(m, v).
template <class L>
concept HasMarginalCdf = requires(double y, double m, double v, const Arguments<L>& p) {
  { L::marginal_cdf(y, m, v, p) } -> std::same_as<double>;
};

/// Formulas that take numbers or duals, and draws of the response.
template <class L>
concept LikelihoodFormulas = requires(double y, double eta, const Arguments<L>& p, const Arguments<L, Dual>& q,
                                      Random& random) {
  { L::info() } -> std::same_as<LikelihoodInfo>;
  { L::constant(y, p) } -> std::same_as<double>;
  { L::constant(y, q) } -> std::same_as<Dual>;
  { L::shape(y, p)(eta) } -> std::same_as<double>;
  { L::sample(eta, p, random) } -> std::same_as<double>;
};

template <class L>
concept HasResponseCdf = HasProbability<L> || HasMarginalCdf<L> || HasConditionalCdf<L>;

/// What the adaptor needs of a likelihood.
template <class L>
concept Likelihood = LikelihoodFormulas<L> && HasResponseCdf<L> &&(HasProbability<L> || HasResponseMoments<L>);

}  // namespace gaussmith
