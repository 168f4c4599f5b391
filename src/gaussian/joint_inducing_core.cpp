#include "gaussian/joint_inducing_core.hpp"

#include "gaussian/joint_inducing_law.hpp"
#include "linalg/inverse_of_factor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace gaussmith {

JointInducingCore::JointInducingCore(std::shared_ptr<const JointInducing> inducing, const Vector& offset)
    : GaussianCore(std::make_shared<PriorGeometry>(inducing->process(), inducing->threads()),
                   inducing->prior_means(Vector::Ones(inducing->process().inputs.rows())), inducing->functions()),
      inducing_(std::move(inducing)),
      rows_(inducing_->see_rows()) {
  if (offset.size() > 0) prior_mean_ += offset;
}

std::string JointInducingCore::description() const {
  const std::string rows = fmt::format("for N = {} rows of {} latents", this->rows(), width());
  if (inducing_->rank() == inducing_->given())
    return fmt::format("inducing form: {} inducing variables {}", inducing_->given(), rows);
  return fmt::format("inducing form: {} of {} inducing variables {}; the others follow from them", inducing_->rank(),
                     inducing_->given(), rows);
}

Vector JointInducingCore::prior_variances() const {
  return diagonals(inducing_->prior_blocks(rows_.variance), width());
}

bool JointInducingCore::factorise(const SiteApproximation& sites) {
  auto lower = std::make_shared<Matrix>(inducing_->gram(rows_, sites.precision));
  lower->diagonal().array() += 1.0;
  if (!cholesky(*lower)) return false;
  *lower = lower->triangularView<Eigen::Lower>().toDenseMatrix();
  lower_ = std::move(lower);
  return true;
}

void JointInducingCore::find_variances(Vector& variance, Vector& share) {
  covariances_ = inducing_->covariances(rows_, inverse_of_factor(*lower_));
  variance = diagonals(covariances_, width());
  share.resize(0);
}

Vector JointInducingCore::solve(Vector x) const {
  solve_lower(*lower_, x);
  solve_lower_transposed(*lower_, x);
  return x;
}

LatentPoint JointInducingCore::mean(const Vector& shift, const SolveGoal& /*goal*/) const {
  return point(solve(inducing_->transposed_times(rows_, shift - precision_times(sites(), prior_mean_))));
}

LogDeterminant JointInducingCore::half_log_det() const { return {half_log_determinant(*lower_)}; }

Vector JointInducingCore::covariance_times(const Vector& x) const {
  return inducing_->times(rows_, solve(inducing_->transposed_times(rows_, x)));
}

LatentPoint JointInducingCore::point(Vector coordinates) const {
  Vector eta = prior_mean_ + inducing_->times(rows_, coordinates);
  return {std::move(coordinates), std::move(eta)};
}

LatentPoint JointInducingCore::centre() const { return {Vector::Zero(inducing_->rank()), prior_mean_}; }

double JointInducingCore::inner(const LatentPoint& a, const LatentPoint& b) const {
  return a.coordinates.dot(b.coordinates);
}

double JointInducingCore::slope(const LatentPoint& from, const LatentPoint& to, const Vector& site_gradient) const {
  return (inducing_->transposed_times(rows_, site_gradient) - from.coordinates).dot(to.coordinates - from.coordinates);
}

Vector JointInducingCore::dual(const LatentPoint& at) const { return sites().shift - precision_times(sites(), at.eta); }

Matrix JointInducingCore::covariance_weights(const LatentPoint& /*at*/, const Vector& /*implicit*/) const {
  throw std::logic_error("inducing variables have gradients of their own");
}

RoundingError JointInducingCore::rounding_error(const LatentPoint& at) {
  // To first order, for errors of the covariances that are independent of one another and as large as rounding leaves
  // them, as for one latent: in log Z they act by the weights of prior_gradient().
  RoundingError out;
  const RowMarginals q = marginals(at);
  const Eigen::ArrayXd prior = prior_variances().cwiseMax(0.0);
  const double size = rounding_unit * prior.maxCoeff();
  const double inverse = inducing_->inverse_norm();
  const double dual = inverse * at.coordinates.norm();
  const Eigen::ArrayXd strength = diagonals(sites().precision, width()).cwiseAbs();
  const double seen = (strength * (q.variance - diagonals(rows_.leftover, width())).array().max(0.0)).sum();
  const double root = lower_->triangularView<Eigen::Lower>().toDenseMatrix().norm();
  out.log_evidence = size * (q.dual.norm() * dual + inverse * (std::sqrt(strength.maxCoeff()) * root + dual)) +
                     rounding_unit * (seen + at.coordinates.squaredNorm());
  const Eigen::ArrayXd v = q.variance.array().max(rounding_unit * prior);
  const Vector rows = Vector::Constant(v.size(), size * dual);
  out.mean = largest_ratio(rows, v.sqrt().matrix()) +
             largest_ratio(rounding_unit * (at.eta.cwiseAbs() + prior_mean_.cwiseAbs()), v.sqrt().matrix()) +
             size * inverse * q.dual.norm();
  out.variance = largest_ratio((size * (1.0 + 2.0 * inverse * prior.sqrt())).matrix(), v.matrix());
  out.gradient = 2.0 * out.log_evidence;
  return out;
}

ParameterGradient JointInducingCore::prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                    const Vector& /*implicit*/) const {
  const Vector& u = at.coordinates;
  const Matrix sigma = inverse_of_factor(*lower_);
  Matrix pull = sigma + u * u.transpose();
  add_outer(1.0, *lower_, 1.0, pull);
  pull.diagonal().array() -= 2.0;
  mirror_lower(pull);
  Matrix spread = -sigma;
  spread.diagonal().array() += 1.0;
  const Vector seen = inducing_->times(rows_, u);
  return inducing_->gradient(
      {rows_, u, rows.dual, sites().precision, seen, rows.covariance, std::move(spread), std::move(pull)});
}

std::unique_ptr<PosteriorLaw> JointInducingCore::law(const LatentPoint& at) const {
  return std::make_unique<JointInducingLaw>(inducing_, lower_, at.coordinates);
}

}  // namespace gaussmith
