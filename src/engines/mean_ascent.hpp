#pragma once
// The mean of a Gaussian approximation whose covariance is held fixed.

#include "gaussian/core.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// The mean of q with the expectations of the sites there, for variances v:
///   objective = sum E_{N(eta_n, v_n)}[log t_n] - 1/2 |u|^2.
struct SmoothedPoint {
  LatentPoint at;
  Vector d_mean, d_variance;
  double objective = 0.0;
  double residual = 0.0;  ///< Gradient norm in standard deviations of q; set by climb_mean().
};

[[nodiscard]] SmoothedPoint smoothed_point(const GaussianCore& core, const SiteRows& sites, const Vector& variance,
                                           LatentPoint at);

/// When a climb of the mean ends.
struct MeanGoal {
  double residual;
  int most_steps;
  double rounding;      ///< Share of the objective below which a gain is rounding; steps then must shrink the residual.
  bool newton = false;  ///< Factorise the sites' own curvature for every step.
};

/// Climbs the objective, which for log-concave sites is concave in eta, by conjugate gradients preconditioned with the
/// core's factorised precisions. A step costs two products with the design or one with K, no factorisation, so this is
/// cheap beside one. Where a factorisation is cheap itself, Newton's steps are fewer; they leave the core at some other
/// precisions. Ends at the goal or when nothing is gained any more.
void climb_mean(GaussianCore& core, const SiteRows& sites, const Vector& precision, const Vector& variance,
                const MeanGoal& goal, SmoothedPoint& point);

}  // namespace gaussmith
