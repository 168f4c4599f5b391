#include "families/fit_family.hpp"
#include "gaussian/prior_geometry.hpp"
#include "linalg/dense.hpp"

namespace gaussmith {

namespace {

/// V of a root in its own coordinates.
Matrix covariance_matrix(const CovarianceRoot& covariance) {
  const Index size = covariance.root.cols();
  Matrix v = Matrix(SparseMatrix(SparseMatrix(covariance.root.transpose()) * covariance.root));
  if (covariance.complement.size() > 0)
    v += covariance.scale * covariance.scale *
         (Matrix::Identity(size, size) - transposed_times(covariance.complement, covariance.complement));
  return v;
}

/// M with d bound = tr(M dSigma), weights over w: 1/2 [P (V + x x') P - P], P = Sigma^-1, x the mean less the prior's.
Matrix weight_basis_weights(const Matrix& covariance, const FamilyFit& fit, const Vector& prior_mean) {
  Matrix lower = covariance;
  (void)cholesky(lower);
  // With Sigma = L L' and Y = L^-1 (V + x x') L^-T: M = 1/2 L^-T (Y - I) L^-1.
  const Vector x = fit.weight_mean - prior_mean;
  Matrix y = covariance_matrix(fit.covariance) + x * x.transpose();
  solve_lower(lower, y);
  y.transposeInPlace();
  solve_lower(lower, y);
  y.diagonal().array() -= 1.0;
  solve_lower_transposed(lower, y);
  y.transposeInPlace();
  solve_lower_transposed(lower, y);
  return 0.25 * (y + y.transpose());
}

/// The same when the family lives in whitened coordinates, w = mean + R u, R = pivoted Cholesky factor: the optimum in
/// (u, C) stays, R moves. The bound's gradient in R is G = H' (e_m u' + 2 diag(e_v) H R V); pulled back through the
/// factorisation with pivots p and L = R_p: the rows below the square part are R_2 = Sigma_2p L^-T.
Matrix whitened_basis_weights(const PivotedCholesky& factor, const PriorGeometry& geometry, const FamilyFit& fit) {
  const Index d = factor.factor.rows();
  const Index rank = factor.rank();
  const Matrix rv = times(factor.factor, covariance_matrix(fit.covariance));
  const Design& design = geometry.design();
  Matrix rows = design.times(rv, geometry.threads());
  rows.array().colwise() *= 2.0 * fit.d_variance.array();
  rows += fit.d_mean * fit.coordinates.transpose();
  const Matrix g = design.transposed_times(rows, geometry.threads());
  std::vector<Index> order = factor.pivots;
  std::vector<bool> chosen(static_cast<std::size_t>(d), false);
  for (const Index p : factor.pivots) chosen[static_cast<std::size_t>(p)] = true;
  for (Index i = 0; i < d; ++i)
    if (!chosen[static_cast<std::size_t>(i)]) order.push_back(i);
  Matrix lower(rank, rank);
  Matrix rest(d - rank, rank);
  Matrix bar(rank, rank);
  Matrix bar_rest(d - rank, rank);
  for (Index i = 0; i < d; ++i) {
    const Index from = order[static_cast<std::size_t>(i)];
    (i < rank ? lower.row(i) : rest.row(i - rank)) = factor.factor.row(from);
    (i < rank ? bar.row(i) : bar_rest.row(i - rank)) = g.row(from);
  }
  // R_2 = Sigma_2p L^-T.
  Matrix down = bar_rest.transpose();
  solve_lower_transposed(lower, down);  // L^-T bar_rest'
  bar -= times(down, rest);
  // Cholesky backwards: 1/2 L^-T Phi(L' bar) L^-1, Phi the lower triangle with half of its diagonal.
  Matrix middle = transposed_times(lower, bar).triangularView<Eigen::Lower>();
  middle.diagonal() *= 0.5;
  solve_lower_transposed(lower, middle);
  middle.transposeInPlace();
  solve_lower_transposed(lower, middle);
  Matrix m = Matrix::Zero(d, d);
  m.topLeftCorner(rank, rank) = 0.5 * (middle + middle.transpose());
  m.bottomLeftCorner(d - rank, rank) = 0.5 * down.transpose();
  m.topRightCorner(rank, d - rank) = 0.5 * down;
  Matrix out(d, d);
  for (Index i = 0; i < d; ++i)
    for (Index j = 0; j < d; ++j) out(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]) = m(i, j);
  return out;
}

}  // namespace

namespace {

/// diag(A'B) for two sets of columns.
Vector column_products(const Matrix& a, const Matrix& b) { return a.cwiseProduct(b).rowwise().sum(); }

/// sd_j d bound / d sd_j for independent weights. Over w the optimum stays where it is: (V_jj + x_j^2) / Sigma_jj - 1.
/// In whitened coordinates w moves with its sd: u_j (H'e_m)_j sd_j + 2 (H'diag(e_v) H R V)_jj sd_j.
Vector sd_slopes(const PriorGeometry& geometry, const FamilyFit& fit) {
  const Vector variance = geometry.weight_variances();
  const Vector x = fit.weight_mean - geometry.mean();
  const CovarianceRoot& covariance = fit.covariance;
  if (!covariance.whitened) {
    Vector v = Vector::Zero(x.size());
    for (Index i = 0; i < covariance.root.outerSize(); ++i)
      for (SparseMatrix::InnerIterator it(covariance.root, i); it; ++it) v(it.col()) += it.value() * it.value();
    return ((v.array() + x.array().square()) / variance.array() - 1.0).matrix();
  }
  const Vector sd = variance.cwiseSqrt();
  const int threads = geometry.threads();
  const Design rows = geometry.design().scaled(sd);
  const auto curved = [&](const Matrix& columns) {
    Matrix eta = rows.times(columns, threads);
    eta.array().colwise() *= fit.d_variance.array();
    return column_products(rows.transposed_times(eta, threads), columns);
  };
  Vector slope = curved(Matrix(covariance.root.transpose()));
  if (covariance.complement.size() > 0) {
    const double square = covariance.scale * covariance.scale;
    slope += square * (rows.column_squares(fit.d_variance, threads) - curved(covariance.complement.transpose()));
  }
  return fit.coordinates.cwiseProduct(rows.transposed_times(fit.d_mean, threads)) + 2.0 * slope;
}

}  // namespace

ParameterGradient family_gradient(const Model& model, const PriorGeometry& geometry, const FamilyFit& fit) {
  ParameterGradient gradient;
  if (has_entry_parameters(model.prior)) {
    const Matrix weights = fit.covariance.whitened ? whitened_basis_weights(geometry.factor(), geometry, fit)
                                                   : weight_basis_weights(geometry.covariance(), fit, geometry.mean());
    add_entry_gradient(model.prior, weights, geometry.threads(), gradient);
  }
  if (std::holds_alternative<Additive>(model.prior) && process_of(model.prior) == nullptr) {
    // Weights are independent: M_jj = sd_j / (2 Sigma_jj) d bound / d sd_j.
    const Vector weights = 0.5 * sd_slopes(geometry, fit).cwiseQuotient(geometry.weight_variances());
    add_block_gradient(
        model.prior, [&](Index first, Index size) -> Matrix { return weights.segment(first, size).asDiagonal(); },
        gradient);
  }
  if (std::holds_alternative<Isotropic>(model.prior)) {
    // 1/2 [tr(P V) + x'P x - D]; over whitened weights P = 1.
    const double variance = independent_variances(model.prior)->coeff(0);
    double trace = fit.covariance.root.squaredNorm();
    if (fit.covariance.complement.size() > 0)
      trace += fit.covariance.scale * fit.covariance.scale *
               static_cast<double>(fit.covariance.root.cols() - fit.covariance.complement.rows());
    if (!fit.covariance.whitened) trace /= variance;
    const double distance = (fit.weight_mean - geometry.mean()).squaredNorm() / variance;
    gradient[scale_parameter(model.prior).name] = 0.5 * (trace + distance - static_cast<double>(geometry.dimension()));
  }
  add_site_gradient(model.sites, expected_site_gradient(fit.latent, model.weights), gradient);
  return gradient;
}

}  // namespace gaussmith
