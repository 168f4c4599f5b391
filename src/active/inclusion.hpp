#pragma once
// One more label: the Gaussian site that its row gets, and what it would tell.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// A marginal eta ~ N(mean, variance).
struct Marginal {
  double mean = 0.0;
  double variance = 0.0;
};

/// exp(shift eta - precision eta^2 / 2).
struct IncludedSite {
  double precision = 0.0;
  double shift = 0.0;
};

/// The tangent of 1/(1 + e^(-y eta)) at which the marginal with it is that of the tangent's own place:
/// precision = tanh(xi/2) / (2 xi), xi^2 = m'^2 + v', v' = v / (1 + precision v), m' = v' (m / v + y / 2).
/// Unique; relative accuracy 1e-12. y is -1 or 1.
[[nodiscard]] IncludedSite include_label(const Marginal& marginal, double y);

/// KL(N(m', v'), N(m, v)) = 1/2 [log k + v/k ((nu - tau m)^2 / k - tau)], k = 1 + tau v, of the marginal with a site.
[[nodiscard]] double divergence_by(const IncludedSite& site, const Marginal& marginal);

/// sum over y of P(y) divergence_by(include_label(y)), P(1) = `probability`; relative accuracy 1e-6.
[[nodiscard]] double information_gain(const Marginal& marginal, double probability);

}  // namespace gaussmith
