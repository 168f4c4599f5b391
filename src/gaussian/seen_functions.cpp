#include "gaussian/seen_functions.hpp"

#include "linalg/symmetric_eigen.hpp"
#include "model/latents.hpp"

namespace gaussmith {

namespace {

/// What T_n 1 may be beside T_n.
constexpr double no_common_shift = 1e-10;

/// Eigenvalues of Q'K^c Q below this share of K^c are rounding.
constexpr double no_variance = 1e-14;

}  // namespace

bool sees_contrasts_alone(const SiteApproximation& sites) {
  const Index c_count = sites.width;
  for (Index n = 0; n < sites.rows(); ++n) {
    const Eigen::Map<const Matrix> t(sites.precision.data() + n * c_count * c_count, c_count, c_count);
    if (t.rowwise().sum().cwiseAbs().maxCoeff() > no_common_shift * t.cwiseAbs().maxCoeff()) return false;
  }
  return true;
}

Matrix basis_for(const SiteApproximation& sites) {
  if (sites.width > 1 && sees_contrasts_alone(sites)) return contrasts(sites.width);
  return Matrix::Identity(sites.width, sites.width);
}

SeenFunctions seen_functions(const Matrix& latent_covariance, const Matrix& basis) {
  const SymmetricEigen eigen = symmetric_eigen(basis.transpose() * latent_covariance * basis);
  const Index rank = (eigen.values.array() > no_variance * latent_covariance.diagonal().maxCoeff()).count();
  SeenFunctions out;
  out.values = eigen.values.tail(rank);
  out.along = basis * eigen.vectors.rightCols(rank);
  out.half = latent_covariance * out.along * out.values.cwiseSqrt().cwiseInverse().asDiagonal();
  out.left = latent_covariance - out.half * out.half.transpose();
  return out;
}

}  // namespace gaussmith
