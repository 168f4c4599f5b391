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
};

/// Marginals of q without a share `power` of each row's own site:
///   variance v / (1 - power tau v), mean m - power a v / (1 - power tau v).
/// Not a distribution where the denominator is not positive.
[[nodiscard]] Marginals cavities(const RowMarginals& rows, const Vector& precision, double power);
/// The same with a share of its own for each row.
[[nodiscard]] Marginals cavities(const RowMarginals& rows, const Vector& precision, const Vector& powers);

/// (1 - share) a + share b.
[[nodiscard]] SiteApproximation between(const SiteApproximation& a, const SiteApproximation& b, double share);

}  // namespace gaussmith
