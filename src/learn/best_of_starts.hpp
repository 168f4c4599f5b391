#pragma once
// Kernels with several components share out the data in many ways: several starts are compared before one is climbed.

#include "learn/climber.hpp"

#include <vector>

namespace gaussmith {

/// Those of the candidate starts that lead furthest, best first, judged over a part of the rows where there are many.
/// Empty for other kernels, and where evaluations are few. The report gets what a part of the rows took.
[[nodiscard]] std::vector<Evaluated> race_of_starts(Climber& climber, const Vector& first, LearnReport& report);

/// Searches from several starts until little is left to gain, then the best of them to its end. The report names
/// another that is nearly as good.
[[nodiscard]] Maximum ascend_from_best(Climber& climber, const std::vector<Evaluated>& starts, LearnReport& report);

}  // namespace gaussmith
