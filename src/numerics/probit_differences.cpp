#include "numerics/probit_differences.hpp"

#include "numerics/other_class.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>

namespace gaussmith {

ProbitDifferences::ProbitDifferences(Index classes, Index label, ConstSpan mean, ConstSpan covariance)
    : offset(classes - 1), loadings(classes - 1, classes - 2), reach(classes, classes - 1) {
  const Index size = classes - 1;
  const Eigen::Map<const Vector> m(mean.data(), classes);
  const Eigen::Map<const Matrix> v(covariance.data(), classes, classes);
  for (Index j = 0; j < size; ++j) {
    offset(j) = m(label) - m(other_class(j, label));
    reach.col(j) = v.col(label) - v.col(other_class(j, label));
  }
  Matrix omega(size, size);
  for (Index j = 0; j < size; ++j)
    for (Index k = 0; k < size; ++k)
      omega(j, k) = (reach(label, k) - reach(other_class(j, label), k)) + 1.0 + (j == k ? 1.0 : 0.0);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(omega);
  const double kappa = std::max(1.0, eigen.eigenvalues()(0));  // Omega is at least I.
  scale = std::sqrt(kappa);
  offset /= scale;
  for (Index i = 1; i < size; ++i)
    loadings.col(i - 1) =
        std::sqrt(std::max(0.0, eigen.eigenvalues()(i) - kappa) / kappa) * eigen.eigenvectors().col(i);
}

}  // namespace gaussmith
