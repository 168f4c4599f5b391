#pragma once
// What a site does to its row beyond a Gaussian, as coefficients of Hermite polynomials in xi = (eta - m) / s, where
// N(m, s^2) is the row's marginal (docs/trust.md).

#include "gaussian/site_form.hpp"
#include "model/site_rows.hpp"

#include <array>

namespace gaussmith {

/// He_3 to He_6, one column each; He_l of row n is coefficient(n, l - 3).
struct HermiteCoefficients {
  static constexpr Index lowest = 3;
  static constexpr Index count = 4;
  Matrix coefficient;     ///< N x 4.
  Vector log_normaliser;  ///< Of the ratio: log E_q[t/s], the powers of EP included. Empty for log t.
  Index inaccurate = 0;   ///< Rows whose integrals were not settled to 1e-8.
};

/// a_l = E[He_l(xi)] under the tilted distribution q t/s. A row that is `copies` equal sites has the coefficients of
/// one of them: t^(1/copies) over s^(1/copies).
[[nodiscard]] HermiteCoefficients tilted_coefficients(const SiteRows& sites, const RowMarginals& rows,
                                                      const SiteApproximation& approximation, const Vector& copies);

/// b_l = E_q[He_l(xi) log t].
[[nodiscard]] HermiteCoefficients log_site_coefficients(const SiteRows& sites, const Marginals& rows);

}  // namespace gaussmith
