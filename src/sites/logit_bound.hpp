#pragma once

#include "gaussmith/sites.hpp"

namespace gaussmith {

/// bernoulli-logit with a piecewise bound in the place of log t: integrals are exact, and a bound of the model with
/// these sites is one of the logit model. Responses are those of the logistic function itself.
[[nodiscard]] Sites make_logit_bound(const PiecewiseBound& bound, const Vector& responses);

}  // namespace gaussmith
