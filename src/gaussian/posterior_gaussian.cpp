#include "gaussian/posterior_gaussian.hpp"

namespace gaussmith {

Matrix normal_matrix(Index rows, Index cols, Random& random) {
  Matrix z(rows, cols);
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) z(i, j) = random.normal();
  return z;
}

Matrix PosteriorGaussian::weight_deviations(int draws, Random& random) const {
  const Matrix root = weight_root();
  return times(root, normal_matrix(root.cols(), draws, random));
}

}  // namespace gaussmith
