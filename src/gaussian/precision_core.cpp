#include "gaussian/precision_core.hpp"

#include "gaussian/factor_law.hpp"

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// Rows of G handled at once: a block of D x 1024 stays small beside D x D and feeds DSYRK and DTRSM well.
constexpr Index row_block = 1024;

/// Without a Gaussian factor a pivot this small beside its diagonal entry is rounding of zero: a direction of w that no
/// site determines.
constexpr double singular_pivot = 1e-13;

}  // namespace

PrecisionCore::PrecisionCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : GaussianCore(std::move(geometry), offset) {
  geometry_->whiten_rows();
}

bool PrecisionCore::factorise(const Vector& precision) {
  lower_ = std::make_shared<Matrix>(geometry_->whitened_gram(precision));
  const Vector gram_diagonal = lower_->diagonal();
  if (geometry_->has_gaussian()) lower_->diagonal().array() += 1.0;
  if (!cholesky(*lower_)) return false;
  return geometry_->has_gaussian() ||
         (lower_->diagonal().array().square() > singular_pivot * gram_diagonal.array()).all();
}

LatentPoint PrecisionCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + geometry_->whitened_times(coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint PrecisionCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  Vector u = geometry_->whitened_transposed_times(shift - sites().precision.cwiseProduct(prior_mean_));
  solve_lower(*lower_, u);
  solve_lower_transposed(*lower_, u);
  return point(std::move(u));
}

LogDeterminant PrecisionCore::half_log_det() const {
  const double constant =
      geometry_->has_gaussian() ? 0.0 : 0.5 * static_cast<double>(geometry_->rank()) * std::log(2 * std::numbers::pi);
  return {half_log_determinant(*lower_) - constant};
}

void PrecisionCore::find_variances(Vector& variance, Vector& share) {
  variance.resize(rows());
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
  solve_lower(*lower_, u);
  solve_lower_transposed(*lower_, u);
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

Matrix PrecisionCore::covariance_weights(const LatentPoint& at, const Vector& implicit) const {
  // H'Z H = P - P R A^-1 R'P with P = H'T H; the dual vector is a = nu - T eta.
  const PriorGeometry& geometry = *geometry_;
  const Design& design = geometry.design();
  Matrix p = design.gram(sites().precision, geometry.threads());
  mirror_lower(p);
  Matrix reduced = transposed_times(geometry.unwhiten(Matrix::Identity(geometry.rank(), geometry.rank())), p);
  solve_lower(*lower_, reduced);
  add_gram(-1.0, reduced, 1.0, p);
  const Vector a = design.transposed_times(dual(at), geometry.threads());
  Vector b = 0.5 * a;
  if (implicit.size() > 0) b += design.transposed_times(implicit, geometry.threads());
  return 0.5 * (a * b.transpose() + b * a.transpose() - p);
}

std::unique_ptr<PosteriorLaw> PrecisionCore::law(const LatentPoint& at) const {
  return std::make_unique<FactorLaw>(geometry_, lower_, at.coordinates);
}

}  // namespace gaussmith
