#include "gaussian/covariance_core.hpp"

#include "base/overloaded.hpp"

#include <limits>
#include <utility>

namespace gaussmith {

CovarianceCore::CovarianceCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset), k_(&geometry_->row_covariance()) {}

Vector CovarianceCore::prior_variances() const { return k_->diagonal(); }

bool CovarianceCore::factorise(const Vector& precision) {
  precision_ = precision;
  return factor_.factorise(*k_, precision);
}

LatentPoint CovarianceCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + symmetric_times(*k_, coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint CovarianceCore::mean(const Vector& shift) const {
  return point(factor_.dual(*k_, shift - precision_.cwiseProduct(prior_mean_)));
}

Vector CovarianceCore::dual(const LatentPoint& mean, const Vector& /*shift*/) const { return mean.coordinates; }

Vector CovarianceCore::rounding(const LatentPoint& point) const {
  // |K_ij| <= sqrt(K_ii K_jj), and errors of terms add up like independent ones.
  const Vector sd = k_->diagonal().cwiseMax(0.0).cwiseSqrt();
  return std::numeric_limits<double>::epsilon() * sd.cwiseProduct(point.coordinates).norm() * sd;
}

Matrix CovarianceCore::coordinate_covariance() const { return factor_.covariance(*k_); }

Matrix CovarianceCore::coordinate_rows(Index /*begin*/, Index /*end*/) const { return {}; }

Vector CovarianceCore::covariance_times(const Vector& x) const { return symmetric_times(*k_, factor_.dual(*k_, x)); }

LatentPoint CovarianceCore::centre() const { return {Vector::Zero(rows()), prior_mean_}; }

double CovarianceCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return a.coordinates.dot(b.eta - prior_mean_);
}

double CovarianceCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  return (site_gradient - from.coordinates).dot(to.eta - from.eta);
}

Matrix CovarianceCore::covariance_weights(const LatentPoint& mean, const Vector& /*shift*/,
                                          const Vector& implicit) const {
  // 1/2 (a a' - Z + g a' + a g') = 1/2 (a b' + b a' - Z) with b = a / 2 + g.
  Vector b = 0.5 * mean.coordinates;
  if (implicit.size() > 0) b += implicit;
  Matrix m = factor_.gradient_weights(mean.coordinates, b);
  if (std::holds_alternative<Identity>(geometry_->design())) return m;
  mirror_lower(m);
  return geometry_->pull_back(std::move(m));
}

void CovarianceCore::predict(const NewPoints& points, Index begin, Index end, const LatentPoint& at, Vector& mean,
                             Vector& variance) const {
  CrossBlock block = geometry_->cross(points, begin, end);
  mean = block.mean + transposed_times(block.covariance, at.coordinates);
  const auto reduction = factor_.reduce(std::move(block.covariance));
  variance = block.variance - reduction.positive.colwise().squaredNorm().transpose();
  if (reduction.negative.size() > 0) variance += reduction.negative.colwise().squaredNorm().transpose();
  variance = variance.cwiseMax(0.0);
}

Matrix CovarianceCore::joint_covariance(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  Matrix joint = std::visit(
      Overloaded{[&](const NewInputs& p) {
                   Matrix k;
                   std::get<GaussianProcess>(geometry_->prior()).kernel->gram(*p.inputs, k);
                   return k;
                 },
                 [&](const NewRows& p) { return PriorGeometry(geometry_->prior(), *p.rows, 1).row_covariance(); }},
      points);
  const auto reduction = factor_.reduce(geometry_->cross(points, 0, count).covariance);
  add_gram(-1.0, reduction.positive, 1.0, joint);
  if (reduction.negative.size() > 0) add_gram(1.0, reduction.negative, 1.0, joint);
  mirror_lower(joint);
  return joint;
}

Matrix CovarianceCore::weight_root() const {
  const Design weights = Identity{};
  return pivoted_cholesky(joint_covariance(NewRows{&weights})).factor;
}

void CovarianceCore::describe(const LatentPoint& at, FittedGaussian& out) const {
  out.form = CoreForm::covariance;
  out.design = geometry_->design();
  out.precision = precision_;
  out.dual = at.coordinates;
}

}  // namespace gaussmith
