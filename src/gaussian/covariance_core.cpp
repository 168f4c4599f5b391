#include "gaussian/covariance_core.hpp"

#include "gaussian/dual_law.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// Below this the crude bound of an error is as good as the error.
constexpr double harmless = 1e-9;
/// A bound on relative errors of the weights' variances that is not worth finding the errors themselves.
constexpr double harmless_to_weights = 1e-5;

}  // namespace

CovarianceCore::CovarianceCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset),
      k_(&geometry_->row_covariance()),
      factor_(std::make_shared<CovarianceFactor>()) {}

Vector CovarianceCore::prior_variances() const { return k_->diagonal(); }

bool CovarianceCore::factorise(const SiteApproximation& sites) {
  const Vector& precision = sites.precision;
  if (factor_.use_count() > 1) factor_ = std::make_shared<CovarianceFactor>();
  return factor_->factorise(*k_, precision);
}

bool CovarianceCore::factorises_cheaply() const {
  // In units of one number read from memory and used once; BLAS uses a number many times. A solve reads K and the
  // factor.
  constexpr double blas = 8.0;
  constexpr double few = 15.0;
  const auto n = static_cast<double>(rows());
  return n * n * n / (3.0 * blas) < few * 2.0 * n * n;
}

void CovarianceCore::find_variances(Vector& variance, Vector& share) { variance = factor_->variances(*k_, share); }

LatentPoint CovarianceCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + symmetric_times(*k_, coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint CovarianceCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  return point(factor_->dual(*k_, shift - sites().precision.cwiseProduct(prior_mean_)));
}

double CovarianceCore::evidence_rounding(const LatentPoint& at) {
  const RowMarginals q = marginals(at);
  const auto z = (sites().precision.array() * q.share.array()).abs();
  const double of_covariance =
      0.5 * rounding_unit * ((at.coordinates.array().square() + z) * covariance_sizes().array().max(0.0)).sum();
  const double blurred = (shift_rounding(at).array() * q.variance.array().sqrt()).matrix().norm();
  return of_covariance + at.coordinates.cwiseProduct(eta_rounding(at)).norm() + 0.5 * blurred * blurred;
}

RoundingError CovarianceCore::rounding_error(const LatentPoint& at) {
  // An error dK of the size of its rounding moves log Z by 1/2 a'dK a - 1/2 tr(Z dK), Z = (K + T^-1)^-1, and V by
  // P dK P' with P = (I + K T)^-1; the backward error of the factorisation is of the same size. With D = diag K (or
  // what it is the sum of) and independent errors: q_n = (P D P')_nn tells what a row feels.
  const RowMarginals q = marginals(at);
  const auto tau = sites().precision.array();
  const Eigen::ArrayXd prior = covariance_sizes().cwiseMax(0.0);
  const Eigen::ArrayXd z = (tau * q.share.array()).abs();
  const double dual = (at.coordinates.array().square() * prior).sum();
  const double trace = (z * prior).sum();
  // The largest eigenvalue of D^1/2 Z D^1/2, for which the trace does where nothing depends on it.
  const double growth = rounding_unit * trace > harmless ? factor_->growth(prior) : trace;
  const bool positive = (tau >= 0.0).all();
  const double blur = rounding_unit * std::sqrt(dual);

  RoundingError out;
  out.log_evidence = evidence_rounding(at);
  out.gradient = 2.0 * out.log_evidence;
  const auto add = [&](double prior_variance, double v, double felt) {
    felt = std::max(felt, v);
    out.variance = std::max(out.variance, rounding_unit * felt / v);
    out.mean = std::max(out.mean, blur * (std::sqrt(felt) + std::sqrt(prior_variance)) / std::sqrt(v));
  };
  // P = Z / tau = I - K Z = I - V T, and V_nm^2 <= v_n v_m. Negative precisions leave only the last of these: Z is then
  // not positive definite.
  const double spread = (prior * tau.square() * q.variance.array()).sum();
  const auto by_difference = [&](double prior_variance, double v) {
    const double carried = positive ? std::min(growth * std::max(0.0, prior_variance - v), spread * v) : spread * v;
    return 2.0 * std::max(prior_variance, v) + 2.0 * carried;
  };
  for (Index n = 0; n < rows(); ++n) {
    // A variance that rounding has made zero counts for what it may be.
    const double v = std::max(q.variance(n), rounding_unit * prior(n));
    if (!(v > 0.0)) continue;
    double felt = by_difference(prior(n), v);
    if (positive && z(n) > 0.0) felt = std::min(felt, growth * z(n) / (tau(n) * tau(n)));
    add(prior(n), v, felt);
  }
  // Rounding of eta itself, and of the shifts that the mean was solved for.
  const Vector floor = rounding_unit * prior.matrix();
  const double own = largest_ratio(eta_rounding(at), q.variance.cwiseMax(floor).cwiseSqrt());
  const double blurred = (shift_rounding(at).array() * q.variance.array().sqrt()).matrix().norm();
  out.mean += own + blurred;
  if (geometry_->design().is_identity()) return out;

  // Weights know themselves by the difference Sigma_jj - v_j alone. No v_j is below Sigma_jj / (1 + tr(T+ K)), nor,
  // where weights are independent, below 1 / (1 / Sigma_jj + (H'T+H)_jj): where those do no harm, nothing does.
  const Vector strength = sites().precision.cwiseMax(0.0);
  double narrowing = 1.0 + strength.dot(prior.matrix());
  const double crude = rounding_unit * (1.0 + (positive ? std::min(growth, spread) : spread));
  if (narrowing * crude <= harmless_to_weights) return out;
  const Vector weight_variances = geometry_->weight_variances();
  if (geometry_->covariance().size() == 0 && geometry_->design().has_entries())
    narrowing =
        1.0 +
        geometry_->design().column_squares(strength, geometry_->threads()).cwiseProduct(weight_variances).maxCoeff();
  if (narrowing * crude <= harmless_to_weights) return out;
  const Vector found = law(at)->weights().variance;
  for (Index j = 0; j < found.size(); ++j) {
    const double v = std::max(found(j), rounding_unit * weight_variances(j));
    if (v > 0.0) add(weight_variances(j), v, by_difference(weight_variances(j), v));
  }
  return out;
}

std::unique_ptr<SequentialGaussian> CovarianceCore::sweep(const LatentPoint& mean) const {
  return std::make_unique<SequentialGaussian>(factor_->covariance(*k_), mean.eta);
}

Vector CovarianceCore::covariance_times(const Vector& x) const { return symmetric_times(*k_, factor_->dual(*k_, x)); }

LatentPoint CovarianceCore::centre() const { return {Vector::Zero(rows()), prior_mean_}; }

double CovarianceCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return a.coordinates.dot(b.eta - prior_mean_);
}

double CovarianceCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  return (site_gradient - from.coordinates).dot(to.eta - from.eta);
}

Matrix CovarianceCore::covariance_weights(const LatentPoint& at, const Vector& implicit) const {
  // 1/2 (a a' - Z + g a' + a g') = 1/2 (a b' + b a' - Z) with b = a / 2 + g.
  Vector b = 0.5 * at.coordinates;
  if (implicit.size() > 0) b += implicit;
  Matrix m = factor_->gradient_weights(at.coordinates, b);
  if (geometry_->design().is_identity()) return m;
  mirror_lower(m);
  return geometry_->pull_back(m);
}

std::unique_ptr<PosteriorLaw> CovarianceCore::law(const LatentPoint& at) const {
  return std::make_unique<DualLaw>(geometry_, factor_, at.coordinates);
}

}  // namespace gaussmith
