#include "gaussian/block_weights.hpp"

#include <utility>
#include <vector>

namespace gaussmith {

namespace {

Matrix inverse_of(const Matrix& c) {
  if (c.rows() == 1) return c.cwiseInverse();
  const double determinant = c(0, 0) * c(1, 1) - c(1, 0) * c(1, 0);
  return Matrix{{c(1, 1), -c(1, 0)}, {-c(1, 0), c(0, 0)}} / determinant;
}

}  // namespace

BlockWeights::BlockWeights(const PriorGeometry& geometry, const PosteriorLaw& law, Vector pull)
    : geometry_(&geometry), weights_(law.weights()), pull_(std::move(pull)) {
  if (!geometry.has_independent_weights()) neighbours_ = law.neighbour_covariances();
}

BlockWeights::BlockWeights(const PriorGeometry& geometry, const PosteriorLaw& law, Vector pull,
                           const std::vector<Index>& chosen)
    : geometry_(&geometry), pull_(std::move(pull)) {
  SparseMatrix rows(static_cast<Index>(chosen.size()), geometry.dimension());
  for (std::size_t i = 0; i < chosen.size(); ++i) rows.insert(static_cast<Index>(i), chosen[i]) = 1.0;
  const Marginals found = law.predict(NewRows{rows});
  weights_ = {Vector::Zero(geometry.dimension()), Vector::Zero(geometry.dimension())};
  weights_.mean(chosen) = found.mean;
  weights_.variance(chosen) = found.variance;
}

Matrix BlockWeights::operator()(Index first, Index size) const {
  const Matrix precision = inverse_of(geometry_->weight_covariance(first, size));
  const Vector dual = precision * (weights_.mean - geometry_->mean()).segment(first, size);
  Matrix v = weights_.variance.segment(first, size).asDiagonal();
  if (size == 2) {
    v(0, 1) = v(1, 0) = neighbours_.size() > 0 ? neighbours_(first) : 0.0;
  }
  Vector side = 0.5 * dual;
  if (pull_.size() > 0) side += pull_.segment(first, size);
  return 0.5 * (dual * side.transpose() + side * dual.transpose() - precision + precision * v * precision);
}

}  // namespace gaussmith
