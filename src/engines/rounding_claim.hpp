#pragma once

#include "gaussian/rounding_error.hpp"
#include "gaussmith/report.hpp"

namespace gaussmith {

/// Writes down what rounding may have done to the moments and judges the claim of convergence: a search that ends where
/// rounding hides the rest has reached its end, and no claim holds where rounding may have moved the answer too far.
/// `no_step_helps`: the search ended because of that, not for want of iterations or of an optimum.
void judge_rounding(const RoundingError& rounding, bool no_step_helps, Report& report);

}  // namespace gaussmith
