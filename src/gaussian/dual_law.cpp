#include "gaussian/dual_law.hpp"

#include <utility>

namespace gaussmith {

DualLaw::DualLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const CovarianceFactor> factor,
                 Vector dual)
    : PosteriorLaw(std::move(geometry)), factor_(std::move(factor)), dual_(std::move(dual)) {}

void DualLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  CrossBlock block = geometry_->cross(points, begin, end);
  mean = block.mean + transposed_times(block.covariance, dual_);
  const auto reduction = factor_->reduce(std::move(block.covariance));
  variance = block.variance - reduction.positive.colwise().squaredNorm().transpose();
  if (reduction.negative.size() > 0) variance += reduction.negative.colwise().squaredNorm().transpose();
  variance = variance.cwiseMax(0.0);
}

Matrix DualLaw::joint_covariance(const NewPoints& points) const {
  Matrix joint = geometry_->prior_covariance(points);
  const auto reduction = factor_->reduce(geometry_->cross(points, 0, geometry_->count(points)).covariance);
  add_gram(-1.0, reduction.positive, 1.0, joint);
  if (reduction.negative.size() > 0) add_gram(1.0, reduction.negative, 1.0, joint);
  mirror_lower(joint);
  return joint;
}

Matrix DualLaw::weight_root() const { return pivoted_cholesky(joint_covariance(NewRows{Identity{}})).factor; }

void DualLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::covariance;
  out.design = geometry_->design();
  out.precision = factor_->precision();
  out.dual = dual_;
}

}  // namespace gaussmith
