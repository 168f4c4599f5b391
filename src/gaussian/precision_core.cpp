#include "gaussian/precision_core.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/factor_law.hpp"
#include "linalg/qr.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// Rows of G handled at once: a block of D x 1024 stays small beside D x D and feeds DSYRK and DTRSM well.
constexpr Index row_block = 1024;

/// Without a Gaussian factor a pivot of reflections this small beside its diagonal entry is rounding of zero: a
/// direction of w that no site determines.
constexpr double singular_pivot = 1e-26;

/// Pivots of A smaller than this beside their diagonal entries have lost more digits than engines can do without.
constexpr double safe_pivot = 1e-5;

/// Solves by a factor from reflections are refined: the normal equations would undo what it gained.
constexpr int refinements = 2;

/// What solves may leave uncertain in a mean, in standard deviations, without a step of refinement.
constexpr double harmless_to_means = 1e-7;

/// Below this the crude bound of an error is as good as the error.
constexpr double harmless = 1e-9;

double smallest_pivot(const Matrix& lower, const Vector& diagonal) {
  return (lower.diagonal().array().square() / diagonal.array()).minCoeff();
}

}  // namespace

PrecisionCore::PrecisionCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset) {
  geometry_->whiten_rows();
}

bool PrecisionCore::factorises_cheaply() const {
  // In units of one number read from memory and used once; BLAS uses a number many times.
  constexpr double blas = 8.0;
  constexpr double few = 15.0;
  const auto d = static_cast<double>(geometry_->rank());
  const auto n = static_cast<double>(rows());
  const Design& rows_of_g = geometry_->whitened_design();
  const double entries = rows_of_g.nonzeros();
  const double gram = rows_of_g.entries().is_sparse() ? entries * entries / n : n * d * d / blas;
  return gram + d * d * d / (3.0 * blas) < few * (4.0 * entries + 2.0 * d * d);
}

bool PrecisionCore::factorise(const SiteApproximation& sites) {
  const Vector& precision = sites.precision;
  orthogonal_ = false;
  down_dating_ = 1.0;
  lower_ = std::make_shared<Matrix>(geometry_->whitened_gram(precision));
  if (geometry_->has_gaussian()) lower_->diagonal().array() += 1.0;
  diagonal_ = lower_->diagonal();
  if (diagonal_.size() == 0) return true;
  negative_ = (precision.array() < 0.0).any();
  if (negative_) {
    // What entries of A are sums of, before they cancel.
    diagonal_ = geometry_->whitened_column_squares(precision.cwiseAbs());
    if (geometry_->has_gaussian()) diagonal_.array() += 1.0;
  }
  const bool definite = cholesky(*lower_);
  const double pivot = definite ? smallest_pivot(*lower_, diagonal_) : 0.0;
  solve_error_ = rounding_unit * static_cast<double>(diagonal_.size()) / pivot;
  if (pivot >= safe_pivot) return true;
  if (negative_ && !positive_part_is_hard(precision)) return definite;
  return factorise_orthogonally(precision);
}

bool PrecisionCore::positive_part_is_hard(const Vector& precision) const {
  // With a Gaussian factor A >= I, so that no pivot of the positive part is below 1.
  if (geometry_->has_gaussian()) {
    const Vector squares = geometry_->whitened_column_squares(precision.cwiseMax(0.0));
    if (1.0 + squares.maxCoeff() < 1.0 / safe_pivot) return false;
  }
  Matrix positive = geometry_->whitened_gram(precision.cwiseMax(0.0));
  if (geometry_->has_gaussian()) positive.diagonal().array() += 1.0;
  const Vector diagonal = positive.diagonal();
  return !cholesky(positive) || smallest_pivot(positive, diagonal) < safe_pivot;
}

bool PrecisionCore::factorise_orthogonally(const Vector& precision) {
  orthogonal_ = true;
  const Index d = geometry_->rank();
  Matrix upper = Matrix::Zero(d, d);
  if (geometry_->has_gaussian()) upper.diagonal().setOnes();
  std::vector<Index> negative;
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    const Vector root = precision.segment(begin, end - begin).cwiseMax(0.0).cwiseSqrt();
    Matrix block = root.asDiagonal() * geometry_->whitened_rows(begin, end).transpose();
    add_rows(upper, block);
    for (Index n = begin; n < end; ++n)
      if (precision(n) < 0.0) negative.push_back(n);
  }
  for (Index i = 0; i < d; ++i)
    if (upper(i, i) < 0.0) upper.row(i) *= -1.0;
  *lower_ = upper.transpose().triangularView<Eigen::Lower>();
  diagonal_ = upper.triangularView<Eigen::Upper>().toDenseMatrix().colwise().squaredNorm();
  if (!lower_->allFinite() || !(lower_->diagonal().array() > 0.0).all()) return false;
  if (!geometry_->has_gaussian() && !(smallest_pivot(*lower_, diagonal_) > singular_pivot)) return false;
  if (negative.empty()) return true;

  // A = L+ (I - W W') L+' with W = L+^-1 G_J' S^1/2 over the negative rows J, S = |T_J|.
  Matrix rest = Matrix::Identity(d, d);
  for (std::size_t begin = 0; begin < negative.size(); begin += row_block) {
    const std::size_t end = std::min(negative.size(), begin + static_cast<std::size_t>(row_block));
    Matrix w(d, static_cast<Index>(end - begin));
    for (std::size_t j = begin; j < end; ++j)
      w.col(static_cast<Index>(j - begin)) =
          std::sqrt(-precision(negative[j])) * geometry_->whitened_rows(negative[j], negative[j] + 1);
    solve_lower(*lower_, w);
    add_outer(-1.0, w, 1.0, rest);
  }
  if (!cholesky(rest)) return false;
  down_dating_ = 1.0 / rest.diagonal().cwiseAbs2().minCoeff();
  rest = rest.triangularView<Eigen::Lower>().toDenseMatrix();
  *lower_ = lower_->triangularView<Eigen::Lower>() * rest;
  return true;
}

void PrecisionCore::solve(Vector& u) const {
  solve_lower(*lower_, u);
  solve_lower_transposed(*lower_, u);
}

LatentPoint PrecisionCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + geometry_->whitened_times(coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint PrecisionCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  Vector u = geometry_->whitened_transposed_times(shift - sites().precision.cwiseProduct(prior_mean_));
  solve(u);
  // An error of A counts by how far the mean is from the prior's, in posterior standard deviations |L'u|.
  const int steps = orthogonal_ ? refinements : solve_error_ * distance(u) > harmless_to_means ? 1 : 0;
  LatentPoint out = point(std::move(u));
  for (int i = 0; i < steps; ++i) {
    Vector left = geometry_->whitened_transposed_times(shift - sites().precision.cwiseProduct(out.eta));
    if (geometry_->has_gaussian()) left -= out.coordinates;
    solve(left);
    out = point(out.coordinates + left);
  }
  return out;
}

double PrecisionCore::distance(const Vector& u) const {
  return (lower_->triangularView<Eigen::Lower>().transpose() * u).norm();
}

LogDeterminant PrecisionCore::half_log_det() const {
  const double constant =
      geometry_->has_gaussian() ? 0.0 : 0.5 * static_cast<double>(geometry_->rank()) * std::log(2 * std::numbers::pi);
  return {half_log_determinant(*lower_) - constant};
}

void PrecisionCore::find_sparse_variances(Vector& variance) const {
  // |L^-1 g|^2 as a combination of few columns of L^-1: N L D flops for L entries a row, beside N D^2 of solves.
  Matrix inverse = *lower_;
  invert_lower(inverse);
  const Index d = inverse.rows();
  parallel_blocks(rows(), row_block, geometry_->threads(), [&](Index begin, Index end) {
    std::vector<PriorGeometry::Entry> entries;
    Vector sum(d);
    for (Index n = begin; n < end; ++n) {
      geometry_->sparse_row(n, entries);
      variance(n) = 0.0;
      if (entries.empty()) continue;
      const Index first = entries.front().column;
      sum.tail(d - first).setZero();
      for (const auto& [column, value] : entries) sum.tail(d - column) += value * inverse.col(column).tail(d - column);
      variance(n) = sum.tail(d - first).squaredNorm();
    }
  });
}

void PrecisionCore::find_variances(Vector& variance, Vector& share) {
  variance.resize(rows());
  if (geometry_->has_sparse_rows()) {
    find_sparse_variances(variance);
    share = 1.0 - (sites().precision.array() * variance.array());
    return;
  }
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    Matrix block = geometry_->whitened_rows(begin, end);
    solve_lower(*lower_, block);
    variance.segment(begin, end - begin) = block.colwise().squaredNorm();
  }
  share = 1.0 - (sites().precision.array() * variance.array());
}

Vector PrecisionCore::dual(const LatentPoint& at) const {
  return sites().shift - sites().precision.cwiseProduct(at.eta);
}

Vector PrecisionCore::rounding(const LatentPoint& point) const {
  Vector out(rows());
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    out.segment(begin, end - begin) =
        (point.coordinates.asDiagonal() * geometry_->whitened_rows(begin, end)).colwise().norm();
  }
  return std::numeric_limits<double>::epsilon() * out;
}

std::unique_ptr<SequentialGaussian> PrecisionCore::sweep(const LatentPoint& mean) const {
  Matrix covariance = *lower_;
  invert_lower(covariance);
  lower_transposed_times_lower(covariance);
  return std::make_unique<SequentialGaussian>(
      std::move(covariance), mean.coordinates,
      SequentialGaussian::Rows{[this](Index begin, Index end) { return geometry_->whitened_rows(begin, end); },
                               prior_mean_});
}

Vector PrecisionCore::covariance_times(const Vector& x) const {
  Vector u = geometry_->whitened_transposed_times(x);
  solve(u);
  return geometry_->whitened_times(u);
}

LatentPoint PrecisionCore::centre() const { return {Vector::Zero(geometry_->rank()), prior_mean_}; }

double PrecisionCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return geometry_->has_gaussian() ? a.coordinates.dot(b.coordinates) : 0.0;
}

double PrecisionCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  Vector gradient = geometry_->whitened_transposed_times(site_gradient);
  if (geometry_->has_gaussian()) gradient -= from.coordinates;
  return gradient.dot(to.coordinates - from.coordinates);
}

namespace {

/// Sigma = P L L'P' of a dense prior by its pivots: L^-1, and for every pivot Sigma_jj and Sigma_jj (Sigma^-1)_jj, what
/// errors of an entry of Sigma are multiplied by.
struct PriorInverse {
  Matrix lower;  // L^-1.
  Vector variance, growth;
};

PriorInverse invert_prior(const PriorGeometry& geometry) {
  PriorInverse out;
  out.lower = geometry.pivot_triangle();
  invert_lower(out.lower);
  out.lower = out.lower.triangularView<Eigen::Lower>().toDenseMatrix();
  const Index rank = geometry.rank();
  out.variance.resize(rank);
  for (Index j = 0; j < rank; ++j) {
    const Index weight = geometry.factor().pivots[static_cast<std::size_t>(j)];
    out.variance(j) = geometry.covariance()(weight, weight);
  }
  out.growth = out.variance.cwiseProduct(out.lower.colwise().squaredNorm().transpose());
  return out;
}

}  // namespace

Matrix PrecisionCore::covariance_weights(const LatentPoint& at, const Vector& implicit) const {
  // M = 1/2 (a b' + b a' - Z) over the weights, a their dual H'(nu - T eta), b = a / 2 + H'g, Z = H'(K + T^-1)^-1 H.
  const PriorGeometry& geometry = *geometry_;
  const Design& design = geometry.design();
  Vector a = design.transposed_times(dual(at), geometry.threads());
  // Z = P - P R A^-1 R'P with P = H'T H.
  Matrix z = design.gram(sites().precision, geometry.threads());
  const bool full_rank = geometry.rank() == design.cols();
  const double sites_growth = z.diagonal().cwiseAbs().dot(geometry.covariance().diagonal());
  std::optional<PriorInverse> inverse;
  if (full_rank && sites_growth * rounding_unit > harmless) inverse = invert_prior(geometry);
  if (inverse && inverse->growth.sum() < sites_growth) {
    // Strong sites leave little of P: then by Z = Sigma^-1 - Sigma^-1 V Sigma^-1 = L^-T (I - A^-1) L^-1 and
    // a = Sigma^-1 (w - mean) = L^-T u, which see the prior alone.
    Matrix reduced = inverse->lower;
    solve_lower(*lower_, reduced);
    Matrix by_pivot = Matrix::Zero(z.rows(), z.cols());
    add_gram(1.0, inverse->lower, 0.0, by_pivot);
    add_gram(-1.0, reduced, 1.0, by_pivot);
    mirror_lower(by_pivot);
    const Vector dual_by_pivot = inverse->lower.transpose() * at.coordinates;
    const auto& pivots = geometry.factor().pivots;
    for (std::size_t j = 0; j < pivots.size(); ++j) {
      a(pivots[j]) = dual_by_pivot(static_cast<Index>(j));
      for (std::size_t i = 0; i < pivots.size(); ++i)
        z(pivots[i], pivots[j]) = by_pivot(static_cast<Index>(i), static_cast<Index>(j));
    }
  } else {
    mirror_lower(z);
    Matrix reduced = geometry.root_transposed_times(z);
    solve_lower(*lower_, reduced);
    add_gram(-1.0, reduced, 1.0, z);
  }
  Vector b = 0.5 * a;
  if (implicit.size() > 0) b += design.transposed_times(implicit, geometry.threads());
  return 0.5 * (a * b.transpose() + b * a.transpose() - z);
}

RoundingError PrecisionCore::rounding_error(const LatentPoint& at) {
  const RowMarginals q = marginals(at);
  const bool gaussian = geometry_->has_gaussian();
  const auto tau = sites().precision.array().abs();
  // (A^-1)_jj, at most 1 where the prior adds I and nothing is taken away.
  Vector inverse = Vector::Ones(diagonal_.size());
  if (!gaussian || negative_ || rounding_unit * diagonal_.sum() > harmless) {
    Matrix root = *lower_;
    invert_lower(root);
    inverse = root.triangularView<Eigen::Lower>().toDenseMatrix().colwise().squaredNorm();
  }
  const double growth = down_dating_ * diagonal_.dot(inverse);
  const double size = static_cast<double>(diagonal_.size());

  RoundingError out;
  // Relative errors of A along any direction: of its sums, or of the reflected rows.
  out.variance = rounding_unit * (orthogonal_ ? 2.0 * std::sqrt(growth) : growth);
  // eta = G u is a sum of terms that may cancel, and so is the gradient G'a - u that a refined mean makes zero. With
  // |g_n|^2 <= v_n tr A the terms of G u do no harm in most models, and are not looked at one by one.
  Vector slope_square = geometry_->whitened_column_squares(q.dual.cwiseAbs2());
  const double largest = at.coordinates.size() > 0 ? at.coordinates.lpNorm<Eigen::Infinity>() : 0.0;
  const double crude = rounding_unit * largest * std::sqrt(diagonal_.sum());
  Vector eta_error = eta_rounding(at);
  if (crude > harmless) {
    eta_error += rounding(at);
  } else {
    out.mean += 2.0 * crude;
    out.log_evidence += rounding_unit * largest * std::sqrt(slope_square.sum());
  }
  if (gaussian) slope_square += at.coordinates.cwiseAbs2();
  const bool dense = geometry_->covariance().size() > 0;
  if (dense) {
    // Rows of G are differences of rows of R where the design takes differences of weights.
    const Vector row_error = rounding_unit * covariance_sizes().cwiseSqrt();
    eta_error += at.coordinates.norm() * row_error;
    for (Index n = 0; n < rows(); ++n)
      if (row_error(n) > 0.0)
        out.variance = std::max(out.variance, 2.0 * row_error(n) / std::max(row_error(n), std::sqrt(q.variance(n))));
    out.variance += 2.0 * std::sqrt((tau * row_error.array().square()).sum());
    out.log_evidence += (tau * q.variance.array().sqrt() * row_error.array()).sum();
  }
  const double slope = rounding_unit * std::sqrt(down_dating_ * inverse.dot(slope_square));
  const double shifted = (shift_rounding(at).array() * q.variance.array().sqrt()).matrix().norm();
  const double blurred = std::sqrt((tau * eta_error.array().square()).sum()) + shifted;
  const double own = largest_ratio(eta_error, q.variance.cwiseSqrt());
  const double far = distance(at.coordinates);
  const bool refined = orthogonal_ || solve_error_ * far > harmless_to_means;
  const double solved = refined ? out.variance * out.variance * far : std::min(harmless_to_means, out.variance * far);
  out.mean += slope + std::sqrt(down_dating_) * blurred + own + solved;
  out.log_evidence += 0.5 * rounding_unit * (orthogonal_ ? 2.0 * std::sqrt(size * growth) : growth) +
                      q.dual.cwiseProduct(eta_error).norm() + 0.5 * blurred * blurred + 0.5 * slope * slope;
  out.gradient = at.coordinates.norm() * out.mean + out.variance * (tau * q.variance.array()).sum();
  out.gradient = std::max(out.gradient, 2.0 * out.log_evidence);
  if (dense) {
    const RoundingError prior = covariance_rounding(at, q);
    out.variance += prior.variance;
    out.mean += prior.mean;
    out.log_evidence += prior.log_evidence;
    out.gradient = std::max(prior.gradient, 2.0 * out.log_evidence);
  }
  return out;
}

RoundingError PrecisionCore::covariance_rounding(const LatentPoint& at, const RowMarginals& rows) const {
  // An error dSigma acts through the pivots, on which all weights depend: with X = L^-1 of Sigma's factor and
  // Y = (factor of A)^-1 X it moves log Z by 1/2 t'dSigma t - 1/2 tr((X'X - Y'Y) dSigma), t = X'u, the mean by at most
  // |Y dSigma t| and variances by at most |Y dSigma Y'| in units of q.
  const PriorGeometry& geometry = *geometry_;
  const PriorInverse prior = invert_prior(geometry);
  Matrix y = prior.lower;
  solve_lower(*lower_, y);
  const Vector left = prior.variance.cwiseProduct(y.colwise().squaredNorm().transpose());
  const double dual = (prior.lower.transpose() * at.coordinates).cwiseAbs2().dot(prior.variance);
  const double effect = down_dating_ * left.sum();
  const double determinant = (prior.growth - left).cwiseAbs().sum();
  RoundingError out;
  out.variance = rounding_unit * effect;
  out.mean = rounding_unit * std::sqrt(effect * dual);
  out.log_evidence = 0.5 * rounding_unit * (dual + determinant);

  // Weights beyond the rank are taken for functions of the others; what that leaves out is rounding of their variance.
  const Design& design = geometry.design();
  const Matrix& covariance = geometry.covariance();
  const Vector strength = design.column_squares(sites().precision.cwiseAbs(), geometry.threads());
  const Vector pull = design.transposed_times(rows.dual, geometry.threads());
  std::vector<bool> is_pivot(static_cast<std::size_t>(covariance.rows()), false);
  for (const Index pivot : geometry.factor().pivots) is_pivot[static_cast<std::size_t>(pivot)] = true;
  const double lost = rounding_unit * static_cast<double>(geometry.rank());
  double ignored = 0.0;
  for (Index j = 0; j < covariance.rows(); ++j) {
    if (is_pivot[static_cast<std::size_t>(j)]) continue;
    ignored += strength(j) * lost * covariance(j, j);
    out.log_evidence += 0.5 * (strength(j) + pull(j) * pull(j)) * lost * covariance(j, j);
  }
  out.variance += ignored;
  out.mean += std::sqrt(ignored);
  const double by_sites = strength.dot(covariance.diagonal());
  const double by_prior = geometry.rank() == covariance.rows() ? prior.growth.sum() : by_sites;
  const double pulled = by_prior < by_sites ? dual : pull.cwiseAbs2().dot(covariance.diagonal());
  out.gradient = rounding_unit * (pulled + std::min(by_sites, by_prior));
  return out;
}

std::unique_ptr<PosteriorLaw> PrecisionCore::law(const LatentPoint& at) const {
  return std::make_unique<FactorLaw>(geometry_, lower_, at.coordinates);
}

}  // namespace gaussmith
