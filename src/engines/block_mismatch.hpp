#pragma once
// How far the sites of several latents are from what a rule asks for, in units of the posterior.

#include "gaussian/joint_core.hpp"

namespace gaussmith {

/// The larger of sqrt(g'V g) for the change g of the pull nu - T m on the mean, and of |(T' - T) V_n| over the rows.
[[nodiscard]] double block_mismatch(const JointCore& core, const RowMarginals& q, const Vector& pull_change,
                                    const Vector& wanted_precision);
/// |(T' - T) V_n| alone.
[[nodiscard]] double block_mismatch(const JointCore& core, const RowMarginals& q, const Vector& wanted_precision);

}  // namespace gaussmith
