#pragma once
// The tail of importance weights: a generalised Pareto distribution is fitted to the largest of them (Zhang and
// Stephens 2009), its shape tells whether averages over the weights mean anything, and its quantiles take their place
// (Vehtari, Simpson, Gelman, Yao and Gabry).

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Shape k and scale of the excesses over a threshold: P(excess > z) = (1 + k z / scale)^(-1/k).
struct ParetoTail {
  double shape, scale;
};

/// For ascending positive excesses, at least five of them. The shape is not shrunk.
[[nodiscard]] ParetoTail fit_pareto(ConstSpan excesses);

/// How many of so many weights are their tail: the least of a fifth and three times the root.
[[nodiscard]] Index tail_size(Index count);

/// Smooths ascending log weights, the tail of `count` of them, in place: they become quantiles of the fitted tail, none
/// above the largest. `cutoff` is the largest log weight that is not in the tail. Returns the shape, shrunk towards 1/2
/// as by ten observations: below 1/2 the weights have a finite variance, above 0.7 averages say little. Weights that
/// hardly differ have shape -inf, tails of fewer than five weights inf.
[[nodiscard]] double smooth_tail(Span log_weights, double cutoff);

}  // namespace gaussmith
