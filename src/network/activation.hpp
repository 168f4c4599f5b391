#pragma once
// Moments of an activation, g(h) = 2 Phi(h) - 1 = erf(h / sqrt(2)) of a normal h.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// E[g] = 2 Phi(b) - 1 and Var[g] under N(mean, variance), b = mean / sqrt(1 + variance), for spans of the same length;
/// variance >= 0. Absolute errors below 1e-14, of the variance relative where b is not far out.
void activation_moments(ConstSpan mean, ConstSpan variance, Span g_mean, Span g_variance);

}  // namespace gaussmith
