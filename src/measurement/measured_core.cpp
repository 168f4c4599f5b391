#include "measurement/measured_core.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussian/factor_law.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "model/prior.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// A step of refinement where solves leave more than this uncertain, in posterior standard deviations.
constexpr double harmless_to_means = 1e-7;

/// N^2 D flops beat D^3 below this share of measurements.
constexpr Index few_times = 2;

/// What measurements may tell of a weight beside its own precision: variances G - G M'S^-1 M G lose as many digits. Of
/// kl the precision of a weight that is far from zero vanishes.
constexpr double most_told = 1e6;

/// Lower triangles are copied in blocks of columns; what an entry takes beside flops.
constexpr Index columns_at_once = 64;
constexpr double flops_an_entry = 20.0;

/// set(j, the column from the diagonal on) for all columns of a lower triangle.
template <class Set>
void set_lower(Matrix& a, const Set& set) {
  const Index n = a.rows();
  const int threads = threads_for(0.5 * flops_an_entry * static_cast<double>(n) * static_cast<double>(n));
  parallel_blocks(n, columns_at_once, threads, [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) set(j, a.col(j).tail(n - j));
  });
}

/// A matrix to write to: the former one where nobody else looks at it.
void make_room(std::shared_ptr<Matrix>& room, Index size) {
  if (!room || room.use_count() > 1) room = std::make_shared<Matrix>(size, size);
}

}  // namespace

MeasuredCore::MeasuredCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset,
                           std::shared_ptr<const MeasuredRows> measured)
    : GaussianCore(std::move(geometry), offset),
      measured_(std::move(measured)),
      site_rows_(geometry_->design(), geometry_->threads()),
      dimension_(geometry_->dimension()),
      noise_sd_(std::sqrt(measured_->variance)) {
  geometry_->whiten();
  if (geometry_->has_gaussian()) weight_sd_ = geometry_->weight_variances().cwiseSqrt();
}

// --- Points

LatentPoint MeasuredCore::at_weights(const Vector& w) const {
  const Index n = measured_->count();
  LatentPoint out{Vector(dimension_ + n + weight_sd_.size()), Vector()};
  out.coordinates.head(dimension_) = w;
  Vector misfit = -measured_->values;
  add_transposed_times(measured_->rows, w, misfit);
  out.coordinates.segment(dimension_, n) = misfit / noise_sd_;
  const Vector from_mean = w - geometry_->mean();
  if (weight_sd_.size() > 0) out.coordinates.tail(dimension_) = from_mean.cwiseQuotient(weight_sd_);
  out.eta = prior_mean_ + geometry_->design().times(from_mean, geometry_->threads());
  return out;
}

LatentPoint MeasuredCore::point(Vector coordinates) const { return at_weights(coordinates.head(dimension_)); }

LatentPoint MeasuredCore::centre() const { return at_weights(geometry_->mean()); }

double MeasuredCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  const Index size = a.coordinates.size() - dimension_;
  return a.coordinates.tail(size).dot(b.coordinates.tail(size));
}

Vector MeasuredCore::factor_transposed_times(const Vector& x) const {
  Vector out = Vector::Zero(dimension_);
  add_times(measured_->rows, x.head(measured_->count()) / noise_sd_, out);
  if (weight_sd_.size() > 0) out += x.tail(dimension_).cwiseQuotient(weight_sd_);
  return out;
}

Vector MeasuredCore::factor_squares() const {
  Vector out = measured_->rows.rowwise().squaredNorm() / measured_->variance;
  if (weight_sd_.size() > 0) out += weight_sd_.cwiseAbs2().cwiseInverse();
  return out;
}

double MeasuredCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  const Vector gradient = geometry_->design().transposed_times(site_gradient, geometry_->threads()) -
                          factor_transposed_times(from.coordinates.tail(from.coordinates.size() - dimension_));
  return gradient.dot(to.coordinates.head(dimension_) - from.coordinates.head(dimension_));
}

// --- Factorisation

void MeasuredCore::set_precision(Matrix& a) const {
  const MeasuredRows& m = *measured_;
  set_lower(a, [&](Index j, auto column) {
    if (m.gram)
      column = m.gram->col(j).tail(dimension_ - j) / m.variance;
    else
      column.setZero();
  });
  if (m.count() > m.gram_rows) add_outer(1.0 / m.variance, m.rows.rightCols(m.count() - m.gram_rows), 1.0, a);
  site_rows_.add_gram(at_.precision, a);
  if (weight_sd_.size() > 0) a.diagonal() += weight_sd_.cwiseAbs2().cwiseInverse();
}

bool MeasuredCore::make_factor() const {
  make_room(lower_, dimension_);
  set_precision(*lower_);
  const Vector diagonal = lower_->diagonal();
  factored_ = cholesky(*lower_);
  if (!factored_) return false;
  const double pivot = (lower_->diagonal().array().square() / diagonal.array()).minCoeff();
  solve_error_ = rounding_unit * static_cast<double>(dimension_) / pivot;
  return true;
}

bool MeasuredCore::factorise(const SiteApproximation& sites) {
  at_ = sites;
  factored_ = inverted_ = mirrored_ = false;
  few_ = site_rows_.single_entries() && few_times * measured_->count() <= dimension_ && factorise_few();
  return few_ || make_factor();
}

bool MeasuredCore::factorise_few() {
  Vector own = geometry_->design().column_squares(at_.precision, geometry_->threads());
  if (weight_sd_.size() > 0) own += weight_sd_.cwiseAbs2().cwiseInverse();
  if (!(own.array() > 0.0).all()) return false;
  spread_ = own.cwiseInverse();
  const Vector told = measured_->rows.rowwise().squaredNorm() / measured_->variance;
  if (!(spread_.cwiseProduct(told).maxCoeff() <= most_told)) return false;
  const Matrix root = spread_.cwiseSqrt().asDiagonal() * measured_->rows;
  small_ = Matrix::Zero(root.cols(), root.cols());
  add_gram(1.0, root, 0.0, small_);
  small_.diagonal().array() += measured_->variance;
  scaled_ = (spread_.asDiagonal() * measured_->rows).transpose();
  solve_error_ = rounding_unit * static_cast<double>(dimension_);
  return cholesky(small_);
}

Vector MeasuredCore::solve(const Vector& b) const {
  Vector x = b;
  if (!few_) {
    solve_lower(*lower_, x);
    solve_lower_transposed(*lower_, x);
    return x;
  }
  Vector seen = scaled_ * b;
  solve_lower(small_, seen);
  solve_lower_transposed(small_, seen);
  return spread_.cwiseProduct(b) - scaled_.transpose() * seen;
}

LatentPoint MeasuredCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  const Design& design = geometry_->design();
  // From the prior's mean, or zero: A (w - mean) = H'(nu - T m0) - F'rho there.
  const LatentPoint from = centre();
  const auto gradient = [&](const LatentPoint& point) {
    const Vector sites_pull = shift - at_.precision.cwiseProduct(point.eta);
    return Vector(design.transposed_times(sites_pull, geometry_->threads()) -
                  factor_transposed_times(point.coordinates.tail(point.coordinates.size() - dimension_)));
  };
  const Vector pull = gradient(from);
  const Vector step = solve(pull);
  LatentPoint out = at_weights(geometry_->mean() + step);
  const double distance = std::sqrt(std::max(0.0, step.dot(pull)));
  if (solve_error_ * distance <= harmless_to_means) return out;
  return at_weights(out.coordinates.head(dimension_) + solve(gradient(out)));
}

LogDeterminant MeasuredCore::half_log_det() const {
  // Of the Gaussian factor N(y | M w, variance I) N(w | mean, Sigma) and the sites' squares, but for |rho|^2 / 2.
  constexpr double log_two_pi = 1.8378770664093454836;
  const auto n = static_cast<double>(measured_->count());
  double half =
      few_ ? half_log_determinant(small_) - 0.5 * n * std::log(measured_->variance) - 0.5 * spread_.array().log().sum()
           : half_log_determinant(*lower_);
  half += 0.5 * n * (log_two_pi + std::log(measured_->variance));
  if (weight_sd_.size() > 0) return {half + weight_sd_.array().log().sum()};
  return {half - 0.5 * static_cast<double>(dimension_) * log_two_pi};
}

const Matrix& MeasuredCore::inverse() const {
  if (inverted_) return *inverse_;
  make_room(inverse_, dimension_);
  Matrix& out = *inverse_;
  if (few_) {
    Matrix half = scaled_;
    solve_lower(small_, half);
    out = spread_.asDiagonal();
    add_gram(-1.0, half, 1.0, out);
  } else {
    set_lower(out, [&](Index j, auto column) { column = lower_->col(j).tail(dimension_ - j); });
    invert_lower(out);
    lower_transposed_times_lower(out);
  }
  inverted_ = true;
  return out;
}

std::shared_ptr<const Matrix> MeasuredCore::covariance() const {
  (void)inverse();
  if (!mirrored_) mirror_lower(*inverse_);
  mirrored_ = true;
  return inverse_;
}

void MeasuredCore::find_variances(Vector& variance, Vector& share) {
  if (few_) {
    Matrix half = scaled_;
    solve_lower(small_, half);
    const Vector weights = spread_ - half.colwise().squaredNorm().transpose();
    variance = geometry_->design().row_squares(weights, geometry_->threads());
  } else {
    variance = site_rows_.squares(inverse());
  }
  share = 1.0 - (at_.precision.array() * variance.array());
}

Vector MeasuredCore::dual(const LatentPoint& at) const {
  return sites().shift - sites().precision.cwiseProduct(at.eta);
}

Vector MeasuredCore::covariance_times(const Vector& x) const {
  const Design& design = geometry_->design();
  return design.times(solve(design.transposed_times(x, geometry_->threads())), geometry_->threads());
}

std::unique_ptr<SequentialGaussian> MeasuredCore::sweep(const LatentPoint& mean) const {
  return std::make_unique<SequentialGaussian>(
      *covariance(), weights(mean) - geometry_->mean(),
      SequentialGaussian::Rows{
          [this](Index begin, Index end) { return geometry_->design().transposed_rows(begin, end); }, prior_mean_});
}

// --- At the end

RoundingError MeasuredCore::rounding_error(const LatentPoint& at) {
  const RowMarginals q = marginals(at);
  const Design& design = geometry_->design();
  const int threads = geometry_->threads();
  const Vector tau = at_.precision.cwiseAbs();
  const Vector marginal = inverse().diagonal().cwiseMax(0.0);
  // Sums that entries of A are made of, and how far errors of them reach: tr(|A| A^-1).
  const double growth = (design.column_squares(tau, threads) + factor_squares()).dot(marginal);
  RoundingError out;
  out.variance = rounding_unit * growth;
  if (few_) out.variance = rounding_unit * largest_ratio(spread_, marginal);
  // The gradient H'(nu - T eta) - F'rho that the mean makes zero is a sum of terms that cancel; |V^1/2 error|.
  const Vector rho = at.coordinates.tail(at.coordinates.size() - dimension_);
  Vector square = design.column_squares(
      shift_rounding(at).cwiseAbs2() + rounding_unit * rounding_unit * q.dual.cwiseAbs2(), threads);
  square += rounding_unit * rounding_unit * (measured_->rows.cwiseAbs2() * rho.head(measured_->count()).cwiseAbs2()) /
            measured_->variance;
  if (weight_sd_.size() > 0)
    square += rounding_unit * rounding_unit * rho.tail(dimension_).cwiseQuotient(weight_sd_).cwiseAbs2();
  const double slope = std::sqrt(marginal.dot(square));
  const Vector w = weights(at);
  const Vector eta_error = eta_rounding(at) + rounding_unit * design.row_squares(w.cwiseAbs2(), threads).cwiseSqrt();
  out.mean = slope + largest_ratio(eta_error, q.variance.cwiseSqrt()) + std::min(harmless_to_means, out.variance);
  out.log_evidence = 0.5 * rounding_unit * growth + rounding_unit * rho.squaredNorm() +
                     q.dual.cwiseProduct(eta_error).norm() + 0.5 * slope * slope;
  out.gradient = std::max(2.0 * out.log_evidence, out.variance * tau.dot(q.variance));
  return out;
}

ParameterGradient MeasuredCore::prior_gradient(const LatentPoint& at, const RowMarginals& /*rows*/,
                                               const Vector& /*implicit*/) const {
  ParameterGradient gradient;
  const ScaleParameter scale = scale_parameter(geometry_->prior());
  if (scale.name.empty() || weight_sd_.size() == 0) return gradient;
  // d log Z = E[d log N(w | mean, s Sigma)].
  double slope = 0.0;
  const Vector second =
      at.coordinates.tail(dimension_).cwiseAbs2() + inverse().diagonal().cwiseQuotient(weight_sd_.cwiseAbs2());
  std::vector<bool> untouched(static_cast<std::size_t>(dimension_), false);
  for (const Index j : scale.untouched) untouched[static_cast<std::size_t>(j)] = true;
  for (Index j = 0; j < dimension_; ++j)
    if (!untouched[static_cast<std::size_t>(j)]) slope += 0.5 * (second(j) - 1.0);
  gradient[scale.name] = scale.power * slope;
  return gradient;
}

Matrix MeasuredCore::covariance_weights(const LatentPoint& /*at*/, const Vector& /*implicit*/) const { return {}; }

std::unique_ptr<PosteriorLaw> MeasuredCore::law(const LatentPoint& at) const {
  if (!factored_ && !make_factor()) throw InvalidModel(why_not_factorised(*this));
  const Vector w = weights(at);
  if (weight_sd_.size() == 0) return std::make_unique<FactorLaw>(geometry_, lower_, w);
  // Of u, w = mean + diag(sd) u: R A R = (R L)(R L)'.
  return std::make_unique<FactorLaw>(geometry_, std::make_shared<Matrix>(weight_sd_.asDiagonal() * *lower_),
                                     (w - geometry_->mean()).cwiseQuotient(weight_sd_));
}

}  // namespace gaussmith
