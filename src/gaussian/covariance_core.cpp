#include "gaussian/covariance_core.hpp"

#include "gaussian/dual_law.hpp"

#include <limits>
#include <utility>

namespace gaussmith {

CovarianceCore::CovarianceCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset),
      k_(&geometry_->row_covariance()),
      factor_(std::make_shared<CovarianceFactor>()) {}

Vector CovarianceCore::prior_variances() const { return k_->diagonal(); }

bool CovarianceCore::factorise(const Vector& precision) {
  if (factor_.use_count() > 1) factor_ = std::make_shared<CovarianceFactor>();
  return factor_->factorise(*k_, precision);
}

void CovarianceCore::find_variances(Vector& variance, Vector& share) { variance = factor_->variances(*k_, share); }

LatentPoint CovarianceCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + symmetric_times(*k_, coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint CovarianceCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  return point(factor_->dual(*k_, shift - sites().precision.cwiseProduct(prior_mean_)));
}

Vector CovarianceCore::rounding(const LatentPoint& point) const {
  // |K_ij| <= sqrt(K_ii K_jj), and errors of terms add up like independent ones.
  const Vector sd = k_->diagonal().cwiseMax(0.0).cwiseSqrt();
  return std::numeric_limits<double>::epsilon() * sd.cwiseProduct(point.coordinates).norm() * sd;
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
