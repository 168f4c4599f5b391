#pragma once

#include "engines/posterior_state.hpp"

#include <map>
#include <string>

namespace gaussmith {

/// d log Z / d log(parameter) for evidences of the form sum log t(m) - 1/2 a'K a - 1/2 log|I + K T(m)| with T the
/// curvature at the mode m: Laplace, and exact with third derivatives zero. With s = 1/2 diag(V) * (log t)''' and
/// g = (I + T K)^-1 s:
///   kernel:  1/2 tr[(a a' - Z + g a' + a g') dK],  Z = (K + T^-1)^-1
///   sites:   sum d log t + 1/2 diag(V) d(log t)'' + (V s) d(log t)'.
[[nodiscard]] std::map<std::string, double, std::less<>> curvature_gradient(const Posterior::State& state);

}  // namespace gaussmith
