#include "families/family_rounding.hpp"

#include "linalg/dense.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Rows of the root that are multiplied by P at once.
constexpr Index rows_at_once = 64;

}  // namespace

RoundingError family_rounding(const ModelSpace& model_space, const PriorGeometry& geometry, const FamilyFit& fit) {
  RoundingError error;
  const PriorPrecision& prior = model_space.space.mean_prior;
  if (prior.dense.size() == 0) return error;
  const Vector spread = geometry.covariance().diagonal();
  const Vector dual = prior.times(fit.weight_mean - geometry.mean());
  const double mean_part = rounding_unit * dual.cwiseAbs2().dot(spread);

  // e_k = eps sum_j Sigma_jj (P c_k)_j^2: a change of P moves the square of the row c_k of the root by that part of
  // itself, because c_k'(P + H'TH) c_k = 1 at the optimum.
  const SparseMatrix& root = fit.covariance.root;
  double root_part = 0.0;
  for (Index begin = 0; begin < root.rows(); begin += rows_at_once) {
    const Index count = std::min(rows_at_once, root.rows() - begin);
    const Matrix rows = Matrix(root.middleRows(begin, count)).transpose();
    const Vector moved = rounding_unit * times(prior.dense, rows).cwiseAbs2().transpose() * spread;
    root_part += moved.sum();
    error.variance = std::max(error.variance, moved.maxCoeff());
  }
  const double inverse_part = rounding_unit * prior.diagonal.dot(spread);
  error.log_evidence = mean_part + root_part + inverse_part;
  // Its contraction holds P twice more; seen to be up to ten times as bad.
  error.gradient = 10.0 * error.log_evidence;

  // P_nj of docs/numerics.md is bounded through Z <= T; the variances under the sites move the mean as well.
  const Vector row_spread = geometry.row_variances();
  const double largest_site = (-2.0 * fit.d_variance.array() * row_spread.array()).maxCoeff();
  double narrowing = 0.0;  // Of a row that varies at all.
  for (Index n = 0; n < row_spread.size(); ++n)
    if (row_spread(n) > 0.0) narrowing = std::max(narrowing, row_spread(n) / fit.latent.variance(n));
  const double reach = 2.0 * (1.0 + std::max(0.0, largest_site)) * narrowing;
  error.mean = std::sqrt(rounding_unit * reach * mean_part) + 2.0 * error.variance;
  return error;
}

}  // namespace gaussmith
