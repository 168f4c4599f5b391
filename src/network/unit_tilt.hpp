#pragma once
// Moments of one activation h_k of every row under its tilted distribution: quadrature over h with the output taken for
// normal given h.

#include "network/output_law.hpp"

namespace gaussmith {

/// One unit of rows first, first + 1, ... in the cavity of each row's site; all spans are of one length.
struct UnitInFocus {
  ConstSpan mean, variance;    ///< q(h), the site included.
  ConstSpan precision, shift;  ///< The share of the site that is no part of the cavity: p tau and p nu.
  ConstSpan activation;        ///< E[g(h)] in the cavity.
  ConstSpan output_mean;       ///< m_f.
  ConstSpan output_variance;   ///< V_f - R_k: without what g(h_k) adds.
  ConstSpan weight_mean;       ///< m_k of v in the cavity,
  ConstSpan weight_variance;   ///< S_kk,
  ConstSpan covariance;        ///< and c_k = Cov(v_k, f).
};

/// tilted(h) ~ N(h | cavity) exp l(m_f + m_k D, V_f - R_k + 2 D c_k + D^2 S_kk), D = g(h) - E[g]: its mean in standard
/// deviations of q(h) from the mean of q(h), and its variance in units of that of q(h). 16 Gauss-Hermite nodes of q(h),
/// where the integrand without the site's share is nearly constant at a fixed point.
void tilt_unit(const OutputLaw& law, Index first, const UnitInFocus& unit, Span mean_shift, Span variance_ratio);

}  // namespace gaussmith
