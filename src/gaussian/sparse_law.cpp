#include "gaussian/sparse_law.hpp"

#include <utility>

namespace gaussmith {

SparseLaw::SparseLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const SparseGaussian> gaussian,
                     Known known, Vector coordinates, Vector precision)
    : PosteriorLaw(std::move(geometry)),
      gaussian_(std::move(gaussian)),
      known_(std::move(known)),
      coordinates_(std::move(coordinates)),
      precision_(std::move(precision)) {}

namespace {

/// New rows [begin, end) as columns.
Matrix rows_of(const PriorGeometry& geometry, const NewPoints& points, Index begin, Index end) {
  return std::get<NewRows>(points).rows.sized(geometry.dimension()).transposed_rows(begin, end);
}

}  // namespace

void SparseLaw::predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const {
  if (std::get<NewRows>(points).rows.is_identity()) {
    mean = (geometry_->mean() + coordinates_).segment(begin, end - begin);
    variance = known_.variance.segment(begin, end - begin);
    return;
  }
  const Matrix rows = rows_of(*geometry_, points, begin, end);
  mean = rows.transpose() * (geometry_->mean() + coordinates_);
  variance = gaussian_->factor->half_solve(rows).colwise().squaredNorm().transpose();
  // Where rounding is all that is left, its share: never less than nothing, as at the training rows.
  variance = (variance - gaussian_->held.lost_variances(rows)).cwiseMax(rounding_unit * variance);
}

Marginals SparseLaw::weights() const { return {geometry_->mean() + coordinates_, known_.variance}; }

Matrix SparseLaw::joint_covariance(const NewPoints& points) const {
  const Matrix rows = rows_of(*geometry_, points, 0, geometry_->count(points));
  const Matrix half = gaussian_->factor->half_solve(rows);
  Matrix joint = half.transpose() * half;
  if (gaussian_->held.any()) {
    const Matrix lost = gaussian_->held.lost_root().transpose() * rows;
    const Matrix gained = gaussian_->held.gained_root().transpose() * rows;
    joint += gained.transpose() * gained - lost.transpose() * lost;
  }
  return joint;
}

Matrix SparseLaw::weight_root() const {
  const Index size = geometry_->dimension();
  if (!gaussian_->held.any()) return gaussian_->factor->root_times(Matrix::Identity(size, size));
  return pivoted_cholesky(joint_covariance(NewRows{Identity{}})).factor;
}

Matrix SparseLaw::weight_deviations(int draws, Random& random) const {
  Matrix w = gaussian_->factor->root_times(normal_matrix(geometry_->dimension(), draws, random));
  gaussian_->held.hold_draws(w, random);
  return w;
}

void SparseLaw::describe(FittedGaussian& out) const {
  out.form = CoreForm::sparse;
  out.design = geometry_->design();
  out.precision = precision_;
  out.coordinates = coordinates_;
}

}  // namespace gaussmith
