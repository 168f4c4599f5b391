#include "gaussian/block_weights.hpp"

#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// Rows w_j + w_(j+1).
Design sums_of_neighbours(Index dimension) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int j = 0; j + 1 < static_cast<int>(dimension); ++j) {
    entries.emplace_back(j, j, 1.0);
    entries.emplace_back(j, j + 1, 1.0);
  }
  SparseMatrix rows(dimension - 1, dimension);
  rows.setFromTriplets(entries.begin(), entries.end());
  return rows;
}

Matrix inverse_of(const Matrix& c) {
  if (c.rows() == 1) return c.cwiseInverse();
  const double determinant = c(0, 0) * c(1, 1) - c(1, 0) * c(1, 0);
  return Matrix{{c(1, 1), -c(1, 0)}, {-c(1, 0), c(0, 0)}} / determinant;
}

}  // namespace

BlockWeights::BlockWeights(const PriorGeometry& geometry, const PosteriorLaw& law, Vector pull)
    : geometry_(&geometry), weights_(law.weights()), pull_(std::move(pull)) {
  if (!geometry.has_independent_weights())
    sum_variances_ = law.predict(NewRows{sums_of_neighbours(geometry.dimension())}).variance;
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
    const double covariance = sum_variances_.size() > 0 ? 0.5 * (sum_variances_(first) - v(0, 0) - v(1, 1)) : 0.0;
    v(0, 1) = v(1, 0) = covariance;
  }
  Vector side = 0.5 * dual;
  if (pull_.size() > 0) side += pull_.segment(first, size);
  return 0.5 * (dual * side.transpose() + side * dual.transpose() - precision + precision * v * precision);
}

}  // namespace gaussmith
