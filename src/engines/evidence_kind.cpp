#include "engines/evidence_kind.hpp"

namespace gaussmith {

EvidenceKind evidence_kind(const EvidenceOfMethod& method, Accuracy accuracy, const SiteRows& sites, bool converged) {
  switch (accuracy) {
    case Accuracy::estimate:
      return EvidenceKind::estimate;
    case Accuracy::from_below:
      return EvidenceKind::approximation;
    case Accuracy::exact:
      break;
  }
  if (method.exact_for_gaussian_sites && converged && sites.all(&SiteTraits::gaussian)) return EvidenceKind::exact;
  return method.kind;
}

Evidence make_evidence(double value, const GaussianCore& core, EvidenceKind kind) {
  Evidence evidence{value, kind, {}};
  if (const double error = core.half_log_det().standard_error; error > 0.0) evidence.standard_error = error;
  return evidence;
}

}  // namespace gaussmith
