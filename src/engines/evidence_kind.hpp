#pragma once

#include "gaussian/core.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// What a method's evidence is when nothing else is known.
struct EvidenceOfMethod {
  EvidenceKind kind;              ///< lower_bound or approximation.
  bool exact_for_gaussian_sites;  ///< Its optimum is then the posterior itself.
};

/// The kind of an evidence from the method, what the core's numbers are, the sites and whether the method reached its
/// end. Short of it the evidence of Gaussian sites is no exact one, while a bound is one everywhere.
[[nodiscard]] EvidenceKind evidence_kind(const EvidenceOfMethod& method, Accuracy accuracy, const SiteRows& sites,
                                         bool converged);

/// The evidence of a core's Gaussian: `value` with what is uncertain in its log-determinant.
[[nodiscard]] Evidence make_evidence(double value, const GaussianCore& core, EvidenceKind kind);

/// The numerical error of an evidence apart from that of its core: rounding of the sum of log t at eta and of other
/// parts of this size, integrals over sites, and what a search with this residual has left undone.
[[nodiscard]] double summation_error(const SiteRows& sites, const Vector& eta, double parts, double residual,
                                     bool integrals);

}  // namespace gaussmith
