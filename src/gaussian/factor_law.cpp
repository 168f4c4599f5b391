#include "gaussian/factor_law.hpp"

#include <utility>

namespace gaussmith {

FactorLaw::FactorLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const Matrix> lower,
                     Vector coordinates)
    : PosteriorLaw(std::move(geometry)), lower_(std::move(lower)), coordinates_(std::move(coordinates)) {}

void FactorLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  WhitenedBlock block = geometry_->whitened(points, begin, end);
  mean = block.mean + transposed_times(block.rows, coordinates_);
  solve_lower(*lower_, block.rows);
  variance = block.leftover + block.rows.colwise().squaredNorm().transpose();
}

Matrix FactorLaw::joint_covariance(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  WhitenedBlock block = geometry_->whitened(points, 0, count);
  Matrix joint = Matrix::Zero(count, count);
  if (std::holds_alternative<NewInputs>(points)) {
    // What the weights leave open is correlated between new inputs: K_new - g'g.
    joint = geometry_->prior_covariance(points);
    add_gram(-1.0, block.rows, 1.0, joint);
  }
  solve_lower(*lower_, block.rows);
  add_gram(1.0, block.rows, 1.0, joint);
  mirror_lower(joint);
  return joint;
}

Matrix FactorLaw::weight_root() const {
  // Cov(u) = L^-T L^-1, so R L^-T is a root of Cov(w).
  Matrix root = Matrix::Identity(geometry_->rank(), geometry_->rank());
  solve_lower_transposed(*lower_, root);
  return geometry_->unwhiten(root);
}

void FactorLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::precision;
  out.coordinates = coordinates_;
  out.factor = lower_->triangularView<Eigen::Lower>();
}

}  // namespace gaussmith
