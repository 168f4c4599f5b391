#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Weights w >= 0, summing to one, that maximise sum_i log sum_r w_r exp(log_density(i, r)): the best mixture in
/// hindsight of densities that each row was given by the others. Rows with a NaN do not count. A concave problem, by
/// expectation maximisation; weights below 1e-3 are dropped.
[[nodiscard]] Vector stacking_weights(const Matrix& log_density);

}  // namespace gaussmith
