#pragma once
// log E[t/s] of every row under a Gaussian of its own, s the Gaussian site that stands for t.

#include "model/site_rows.hpp"
#include "sampling/centred_sites.hpp"

namespace gaussmith {

/// One row of the ratio: a Gaussian in place of N(mean, variance)/s, and the logarithm of what that leaves out.
struct RatioRow {
  double mean, variance;  ///< variance <= 0: N/s is no Gaussian.
  double log_scale;
};
[[nodiscard]] RatioRow ratio_row(const CentredSites& sites, Index n, double mean, double variance, double share);

/// sum_n copies_n log E_{N(mean_n, variance_n)}[(t_n/s_n)^(1/copies_n)], a row being `copies` equal sites; rows whose
/// variance is not above `smallest` of them are taken at their means. Tilted moments of the equal sites on request.
/// NaN where a Gaussian over its site is none.
struct RatioMoments {
  Vector mean, variance;   ///< Of the tilted distributions.
  Vector cavity_variance;  ///< Of what they tilt; 0 for a row at a point.
  Vector cavity_mean;
};
[[nodiscard]] double log_ratio(const SiteRows& sites, const CentredSites& approximation, const Vector& mean,
                               const Vector& variance, const Vector& smallest, double power,
                               RatioMoments* moments = nullptr);

}  // namespace gaussmith
