#pragma once
// What the evidence gradients of all engines share: the prior's part, and one number for each site parameter.

#include "gaussian/core.hpp"
#include "gaussian/site_gradient.hpp"
#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// d log Z / d log(parameter) for every learnable parameter. At a fixed point of the site equations only explicit terms
/// are left:
///   kernel, prior:  1/2 tr[(a a' - Z) dK],  Z = (K + T^-1)^-1, a = K^-1 (mean - m0)
///   sites:          what the engine's callable says.
/// `implicit` is a vector g that adds g a' + a g' to the bracket; empty at such fixed points. The core is at the
/// state's sites.
[[nodiscard]] ParameterGradient explicit_gradient(const GaussianCore& core, const LatentPoint& mean,
                                                  const Posterior::State& state, const SiteParameterGradient& sites,
                                                  const Vector& implicit = {});

}  // namespace gaussmith
