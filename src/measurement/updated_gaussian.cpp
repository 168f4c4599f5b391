#include "measurement/updated_gaussian.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// L of S = X G + variance I. S >= variance I, so only numbers that are none keep it from having one.
Matrix predictive_factor(const Matrix& rows, const Matrix& g, double variance) {
  Matrix s = transposed_times(rows, g);
  s.diagonal().array() += variance;
  if (!cholesky(s)) throw InvalidModel("the covariance of the measurements is not positive definite");
  return s;
}

}  // namespace

Matrix UpdatedGaussian::times(const Matrix& x) const {
  // As rows of both triangles, which threads share, and not as symmetric: x has few columns.
  Matrix out = gaussmith::times(*covariance_, x);
  if (lost_.cols() > 0) out -= gaussmith::times(lost_, transposed_times(lost_, x));
  return out;
}

Vector UpdatedGaussian::variances() const {
  Vector out = covariance_->diagonal();
  if (lost_.cols() > 0) out -= lost_.rowwise().squaredNorm();
  return out;
}

std::shared_ptr<const Matrix> UpdatedGaussian::covariance() const {
  if (lost_.cols() == 0) return covariance_;
  auto out = std::make_shared<Matrix>(*covariance_);
  add_outer(-1.0, lost_, 1.0, *out);
  mirror_lower(*out);
  return out;
}

double UpdatedGaussian::gain(const Matrix& rows, double variance) const {
  return half_log_determinant(predictive_factor(rows, times(rows), variance)) -
         0.5 * static_cast<double>(rows.cols()) * std::log(variance);
}

UpdatedGaussian::Step UpdatedGaussian::measure(const Matrix& rows, const Vector& values, double variance) const {
  Step out;
  out.shrink = times(rows);
  const Matrix lower = predictive_factor(rows, out.shrink, variance);
  const double half_log = half_log_determinant(lower);
  const auto count = static_cast<double>(rows.cols());
  out.gain = half_log - 0.5 * count * std::log(variance);
  Vector misfit = values - rows.transpose() * mean_;
  solve_lower(lower, misfit);
  out.log_density = -0.5 * misfit.squaredNorm() - half_log - 0.5 * count * std::log(2.0 * std::numbers::pi);
  Matrix shrink = out.shrink.transpose();
  solve_lower(lower, shrink);
  out.shrink = shrink.transpose();
  out.move = out.shrink * misfit;
  return out;
}

void UpdatedGaussian::take(const Step& step) {
  mean_ += step.move;
  const Index before = lost_.cols();
  lost_.conservativeResize(mean_.size(), before + step.shrink.cols());
  lost_.rightCols(step.shrink.cols()) = step.shrink;
}

}  // namespace gaussmith
