#pragma once
// The conjugate of f(m, s) = -E_{N(m, s^2)}[log t] by Newton's method in mean and deviation, a row at a time.

#include "gaussmith/sites.hpp"

namespace gaussmith {

/// What a row adds to f, or takes the place of: w f(m, sqrt(s^2 + leftover)) + quadratic (s - centre)^2 / 2
/// + quartic (s - centre)^4 / 2.
struct ConjugateTerms {
  double weight = 1.0;
  double leftover = 0.0;
  double quadratic = 0.0, quartic = 0.0, centre = 0.0;
};

/// Where a conjugate is sought, for rows of a block from `first` on.
struct ConjugateAt {
  ConstSpan slope, growth;
  ConstSpan mean, deviation;                   ///< To start from.
  std::span<const ConjugateTerms> terms = {};  ///< Empty: f itself.
};

/// sup over m and s >= 0 of slope m + growth s - f(m, s). The last step is not made but added to the value, so that
/// this is good to about the square of 1e-12. Infinity where no maximum is found.
void conjugate_by_newton(const SiteBlock& block, Index first, const ConjugateAt& at, const ConjugateOut& out);

/// The second derivatives of f at a mean and a deviation: f_mm = -2 dE/dv is exact, the others are differences of the
/// first ones over this share of the deviation.
inline constexpr double deviation_step = 1e-4;

}  // namespace gaussmith
