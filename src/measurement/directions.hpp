#pragma once
// Free rows of unit norm, from the space in which the covariance of the weights is largest.

#include "gaussmith/measurement.hpp"
#include "measurement/leading_space.hpp"

namespace gaussmith {

/// k orthonormal rows, k x D: the leading eigenvectors.
[[nodiscard]] Matrix eigen_rows(const LeadingSpace& space);

/// k rows one at a time, each the leading eigenvector of what the earlier ones leave, V - V x x'V / (variance + x'V x),
/// within the Krylov space, which is as wide as k.
[[nodiscard]] Matrix greedy_rows(const LeadingSpace& space, double variance);

}  // namespace gaussmith
