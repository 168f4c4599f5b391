#include "gaussian/precision_predict.hpp"

namespace gaussmith {

void predict_from_precision(const PriorGeometry& geometry, const Matrix& lower, const Vector& coordinates,
                            const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) {
  WhitenedBlock block = geometry.whitened(points, begin, end);
  mean = block.mean + transposed_times(block.rows, coordinates);
  solve_lower(lower, block.rows);
  variance = block.leftover + block.rows.colwise().squaredNorm().transpose();
}

}  // namespace gaussmith
