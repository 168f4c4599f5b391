#pragma once

#include "gaussian/core.hpp"
#include "gaussian/site_gradient.hpp"

namespace gaussmith {

/// sum_n w_n de_n / d log(parameter) of the best tangents e: a bound is stationary in q and in the tangents.
[[nodiscard]] SiteParameterGradient tangent_site_gradient(const Marginals& latent, const Vector& weights);

}  // namespace gaussmith
