#pragma once
// Inverting a distribution function that is known only by its values.

#include "gaussmith/sites.hpp"

#include <functional>

namespace gaussmith {

/// The y at which `cdf`, nondecreasing, reaches the level: by doubling steps from `start` and bracketing, on a log
/// scale for positive responses; for counts the smallest whole y with cdf(y) >= level. Relative accuracy 1e-12 where
/// cdf has it.
[[nodiscard]] double response_quantile_of(ResponseKind kind, const std::function<double(double)>& cdf, double level,
                                          double start, double step);

}  // namespace gaussmith
