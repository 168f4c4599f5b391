#include "gaussian/precision_core.hpp"

#include "gaussian/precision_predict.hpp"

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
  geometry_->whiten();
}

Vector PrecisionCore::prior_variances() const {
  if (!geometry_->has_gaussian()) return Vector::Constant(rows(), std::numeric_limits<double>::infinity());
  Vector v(rows());
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    v.segment(begin, end - begin) = geometry_->whitened_rows(begin, end).colwise().squaredNorm();
  }
  return v;
}

bool PrecisionCore::factorise(const Vector& precision) {
  if (!precision.allFinite()) return false;
  precision_ = precision;
  const Index rank = geometry_->rank();
  gram_ = Matrix::Zero(rank, rank);
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    const Matrix block = geometry_->whitened_rows(begin, end);
    // DSYRK knows one sign a call: positive and negative rows go separately.
    for (const double sign : {1.0, -1.0}) {
      const Vector root = (sign * precision.segment(begin, end - begin)).cwiseMax(0.0).cwiseSqrt();
      if (root.isZero(0.0)) continue;
      add_outer(sign, block * root.asDiagonal(), 1.0, gram_);
    }
  }
  lower_ = gram_;
  if (geometry_->has_gaussian()) lower_.diagonal().array() += 1.0;
  if (!cholesky(lower_)) return false;
  return geometry_->has_gaussian() ||
         (lower_.diagonal().array().square() > singular_pivot * gram_.diagonal().array()).all();
}

LatentPoint PrecisionCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + geometry_->whitened_times(coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint PrecisionCore::mean(const Vector& shift) const {
  Vector u = geometry_->whitened_transposed_times(shift - precision_.cwiseProduct(prior_mean_));
  solve_lower(lower_, u);
  solve_lower_transposed(lower_, u);
  return point(std::move(u));
}

double PrecisionCore::half_log_det() const {
  const double constant =
      geometry_->has_gaussian() ? 0.0 : 0.5 * static_cast<double>(geometry_->rank()) * std::log(2 * std::numbers::pi);
  return half_log_determinant(lower_) - constant;
}

Vector PrecisionCore::variances(Vector* slack) {
  Vector v(rows());
  for (Index begin = 0; begin < rows(); begin += row_block) {
    const Index end = std::min(rows(), begin + row_block);
    Matrix block = geometry_->whitened_rows(begin, end);
    solve_lower(lower_, block);
    v.segment(begin, end - begin) = block.colwise().squaredNorm();
  }
  if (slack) *slack = 1.0 - (precision_.array() * v.array());
  return v;
}

Vector PrecisionCore::dual(const LatentPoint& mean, const Vector& shift) const {
  return shift - precision_.cwiseProduct(mean.eta);
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

Matrix PrecisionCore::coordinate_covariance() const {
  Matrix inverse = lower_;
  invert_lower(inverse);
  lower_transposed_times_lower(inverse);
  return inverse;
}

Matrix PrecisionCore::coordinate_rows(Index begin, Index end) const { return geometry_->whitened_rows(begin, end); }

Vector PrecisionCore::covariance_times(const Vector& x) const {
  Vector u = geometry_->whitened_transposed_times(x);
  solve_lower(lower_, u);
  solve_lower_transposed(lower_, u);
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

Matrix PrecisionCore::covariance_weights(const LatentPoint& mean, const Vector& shift, const Vector& implicit) const {
  // H'Z H = P - P R A^-1 R'P with P = H'T H; the dual vector is a = nu - T eta.
  const Index dimension = geometry_->dimension();
  const PriorGeometry& geometry = *geometry_;
  Matrix p = Matrix::Zero(dimension, dimension);
  std::visit(
      [&](const auto& h) {
        using H = std::decay_t<decltype(h)>;
        if constexpr (std::is_same_v<H, Identity>)
          p = precision_.asDiagonal();
        else if constexpr (std::is_same_v<H, Matrix>)
          p = transposed_times(h, precision_.asDiagonal() * h);
        else if constexpr (std::is_same_v<H, SparseMatrix>)
          p = Matrix(SparseMatrix(SparseMatrix(h.transpose()) * SparseMatrix(precision_.asDiagonal() * h)));
      },
      geometry.design());
  // Columns of (R'P)' one block at a time would save memory; D x D is what the caller gets anyway.
  Matrix reduced = transposed_times(geometry.unwhiten(Matrix::Identity(geometry.rank(), geometry.rank())), p);
  solve_lower(lower_, reduced);
  add_gram(-1.0, reduced, 1.0, p);
  mirror_lower(p);
  const Vector a = geometry.pull_back(Vector(shift - precision_.cwiseProduct(mean.eta)));
  Vector b = 0.5 * a;
  if (implicit.size() > 0) b += geometry.pull_back(implicit);
  return 0.5 * (a * b.transpose() + b * a.transpose() - p);
}

void PrecisionCore::predict(const NewPoints& points, Index begin, Index end, const LatentPoint& at, Vector& mean,
                            Vector& variance) const {
  predict_from_precision(*geometry_, lower_, at.coordinates, points, begin, end, mean, variance);
}

Matrix PrecisionCore::joint_covariance(const NewPoints& points) const {
  const Index count = geometry_->count(points);
  WhitenedBlock block = geometry_->whitened(points, 0, count);
  Matrix joint = Matrix::Zero(count, count);
  if (const auto* p = std::get_if<NewInputs>(&points)) {
    // What the weights leave open is correlated between new inputs: K_new - g'g.
    std::get<GaussianProcess>(geometry_->prior()).kernel->gram(*p->inputs, joint);
    add_gram(-1.0, block.rows, 1.0, joint);
  }
  solve_lower(lower_, block.rows);
  add_gram(1.0, block.rows, 1.0, joint);
  mirror_lower(joint);
  return joint;
}

Matrix PrecisionCore::weight_root() const {
  // Cov(u) = L^-T L^-1, so R L^-T is a root of Cov(w).
  Matrix root = Matrix::Identity(geometry_->rank(), geometry_->rank());
  solve_lower_transposed(lower_, root);
  return geometry_->unwhiten(root);
}

void PrecisionCore::describe(const LatentPoint& at, FittedGaussian& out) const {
  out.form = CoreForm::precision;
  out.coordinates = at.coordinates;
  out.factor = lower_.triangularView<Eigen::Lower>();
}

}  // namespace gaussmith
