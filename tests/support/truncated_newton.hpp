#pragma once
// A second way up the bounds of triangular covariance families, to hold the library's against: truncated Newton steps.

#include "families/ascent.hpp"

namespace gaussmith::testing {

/// d2 E[log t] / dm dv and dv2; that in m is 2 dE/dv.
struct SiteCurvature {
  Vector mixed, variance;
};

/// By central differences of dE/dv in steps of a thousandth of the standard deviation: good to about 1e-6.
[[nodiscard]] SiteCurvature site_curvature(const FamilyObjective& objective, const FamilyPoint& point);

/// The Hessian of the bound times a direction, exact but for the curvature. Cost: that of a gradient and a projection.
[[nodiscard]] FamilyGradient hessian_times(const FamilyObjective& objective, const FamilyPoint& point,
                                           const SiteCurvature& curvature, const FamilyDirection& direction);

/// Conjugate gradients on exact Hessian products, preconditioned by the diagonal of the model.
[[nodiscard]] AscentResult truncated_newton(const FamilyObjective& objective, Vector mean, Vector root,
                                            const AscentOptions& options);

}  // namespace gaussmith::testing
