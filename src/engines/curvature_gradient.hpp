#pragma once

#include "gaussian/core.hpp"
#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// d log Z / d log(parameter) for evidences of the form sum log t(m) - 1/2 a'K a - 1/2 log|I + K T(m)| with T the
/// curvature at the mode m: Laplace, and exact with third derivatives zero. With s = 1/2 diag(V) * (log t)''' and
/// g = (I + T K)^-1 s:
///   kernel:  1/2 tr[(a a' - Z + g a' + a g') dK],  Z = (K + T^-1)^-1
///   sites:   sum d log t + 1/2 diag(V) d(log t)'' + (V s) d(log t)'.
[[nodiscard]] ParameterGradient curvature_gradient(const GaussianCore& core, const LatentPoint& mode,
                                                   const Posterior::State& state);

}  // namespace gaussmith
