#include "measurement/directions.hpp"

#include "linalg/symmetric_eigen.hpp"

namespace gaussmith {

Matrix eigen_rows(const LeadingSpace& space) { return space.vectors.transpose(); }

Matrix greedy_rows(const LeadingSpace& space, double variance) {
  const Index count = space.values.size();
  Matrix left = space.projected;
  Matrix chosen(space.basis.rows(), count);
  for (Index k = 0; k < count; ++k) {
    const SymmetricEigen eigen = symmetric_eigen(left);
    const Vector direction = eigen.vectors.rightCols(1);
    const Vector along = left * direction;
    left -= along * along.transpose() / (variance + direction.dot(along));
    chosen.col(k) = (space.basis * direction).normalized();
  }
  fix_signs(chosen);
  return chosen.transpose();
}

}  // namespace gaussmith
