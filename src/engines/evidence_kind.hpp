#pragma once

#include "gaussian/core.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// What a method's evidence is when nothing else is known.
struct EvidenceOfMethod {
  EvidenceKind kind;              ///< lower_bound or approximation.
  bool exact_for_gaussian_sites;  ///< Its optimum is then the posterior itself.
  /// Where the variances decide on it: what their errors take from it, about. Its kind is then theirs, too.
  std::optional<double> loss_by_variances = {};
};

/// The evidence of a core's Gaussian at sites that a method found: its kind from the method, the core's accuracy, the
/// sites and whether the method reached its end; its standard error from the log-determinant and the loss by variances.
/// Short of the end the evidence of Gaussian sites is no exact one, while a bound is one everywhere.
[[nodiscard]] Evidence make_evidence(double value, const EvidenceOfMethod& method, const GaussianCore& core,
                                     const SiteRows& sites, bool converged);

/// The numerical error of an evidence apart from that of its core: rounding of the sum of log t at eta and of other
/// parts of this size, integrals over sites, and what a search with this residual has left undone.
[[nodiscard]] double summation_error(const SiteRows& sites, const Vector& eta, double parts, double residual,
                                     bool integrals);

}  // namespace gaussmith
