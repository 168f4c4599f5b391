#include "engines/evidence_kind.hpp"

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// What log t of a site that is not Gaussian is good to where its terms cancel, beside its size or one.
constexpr double site_error = 1e-11;
/// What integrals over one site are good to.
constexpr double quadrature_error = 1e-9;

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

}  // namespace

Evidence make_evidence(double value, const EvidenceOfMethod& method, const GaussianCore& core, const SiteRows& sites,
                       bool converged) {
  const bool exact_determinant = core.determinant_accuracy() == Accuracy::exact;
  const Accuracy accuracy = method.loss_by_variances ? core.accuracy() : core.determinant_accuracy();
  Evidence evidence{value, evidence_kind(method, accuracy, sites, converged), {}};
  if (accuracy != Accuracy::exact || !exact_determinant)
    evidence.standard_error = std::hypot(exact_determinant ? 0.0 : core.half_log_det().standard_error,
                                         method.loss_by_variances.value_or(0.0));
  return evidence;
}

double summation_error(const SiteRows& sites, const Vector& eta, double parts, double residual, bool integrals) {
  Vector value;
  sites.log_density(eta, &value);
  const double n = static_cast<double>(sites.rows());
  const double sum = value.cwiseAbs().sum();
  // The evidence is stationary, so that what a search left undone counts by its square.
  double error = 4.0 * rounding_unit * (parts + sum) + n * residual * residual;
  if (!sites.all(&SiteTraits::gaussian)) {
    error += site_error * (n + sum);
    if (integrals) error += quadrature_error * (std::sqrt(n) + 0.1 * sum);
  }
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

}  // namespace gaussmith
