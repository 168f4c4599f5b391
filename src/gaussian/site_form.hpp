#pragma once
// What the site form q(w) ∝ N(w | mean, Sigma) exp(nu'eta - eta' T eta / 2) says about every row.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// A point eta in the coordinates of a Gaussian: the dual a (eta = m0 + K a), the whitened weights u (eta = m0 + G u)
/// or the weights w. Lines between points are lines in both members.
struct LatentPoint {
  Vector coordinates;
  Vector eta;
};

/// The marginals of q at the rows, and what is left of each without its own site.
struct RowMarginals : Marginals {
  Vector share;  ///< 1 - tau v, the cavity's share of the marginal's precision: v / share is the variance without the
                 ///< site.
  Vector dual;   ///< a = nu - tau eta, the site's pull on the mean.
  /// The part of the variance that sites do not act upon, where a process is seen through inducing variables; else
  /// empty. The share is then that of the rest, 1 - tau (v - leftover). Of several latents C x C numbers a row.
  Vector leftover = {};

  /// What rows of one latent have as variances and rows of several as covariances.
  [[nodiscard]] const Vector& covariances() const { return covariance.size() > 0 ? covariance : variance; }
};

/// Marginals of q without a share `power` of each row's own site:
///   variance v / (1 - power tau v), mean m - power a v / (1 - power tau v).
/// Not a distribution where the denominator is not positive.
[[nodiscard]] Marginals cavities(const RowMarginals& rows, const Vector& precision, double power);
/// The same with a share of its own for each row.
[[nodiscard]] Marginals cavities(const RowMarginals& rows, const Vector& precision, const Vector& powers);

/// The same for rows of several latents, without their whole site: V (I - T V)^-1 and m - (that) a, with the blocks. A
/// row for which that is not a covariance has NaN.
[[nodiscard]] Marginals joint_cavities(const RowMarginals& rows, const SiteApproximation& sites);

/// T eta of the sites' blocks.
[[nodiscard]] Vector precision_times(const SiteApproximation& sites, const Vector& eta);
/// The diagonals of width x width blocks, stacked.
[[nodiscard]] Vector diagonals(const Vector& blocks, Index width);

/// (1 - share) a + share b.
[[nodiscard]] SiteApproximation between(const SiteApproximation& a, const SiteApproximation& b, double share);

}  // namespace gaussmith
