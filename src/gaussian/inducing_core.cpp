#include "gaussian/inducing_core.hpp"

#include "gaussian/inducing_law.hpp"
#include "model/inducing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

InducingCore::InducingCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset)
    : PrecisionCore(std::move(geometry), offset) {
  const Vector ones = Vector::Ones(geometry_->rank());
  leftover_ = (prior_variances() - geometry_->whitened_design().row_squares(ones, geometry_->threads())).cwiseMax(0.0);
}

std::string InducingCore::description() const {
  if (basis().rank() == basis().given())
    return fmt::format("inducing form: {} inducing variables for N = {} rows", basis().given(), rows());
  return fmt::format("inducing form: {} of {} inducing variables for N = {} rows; the others follow from them",
                     basis().rank(), basis().given(), rows());
}

void InducingCore::find_variances(Vector& variance, Vector& share) {
  PrecisionCore::find_variances(variance, share);
  variance += leftover_;
}

Matrix InducingCore::covariance() const {
  Matrix out = *factor();
  invert_lower(out);
  lower_transposed_times_lower(out);
  mirror_lower(out);
  return out;
}

Matrix InducingCore::pull(const Vector& u, const Matrix& covariance) const {
  const Matrix root = factor()->triangularView<Eigen::Lower>();
  Matrix out = covariance + u * u.transpose();
  add_outer(1.0, root, 1.0, out);
  out.diagonal().array() -= 2.0;
  mirror_lower(out);
  return out;
}

ParameterGradient InducingCore::prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                               const Vector& /*implicit*/) const {
  // With q(u) held, where the bound is stationary: d = sum_n a_n dA_n u - 1/2 sum_n tau_n dv_n. By dA = dK_xz L^-T -
  // A dL'L^-T this is tr(W_zx dK_xz) + tr(W_zz dK_zz) - 1/2 sum tau_n dk_nn with
  //   W_zx = L^-T (u a' + (I - Sigma) A'T),  W_zz = -1/2 L^-T B L^-1,
  // where A'a = u has been used.
  const Matrix& lower = basis().triangle();
  const Matrix sigma = covariance();
  InducingBasis::Weights weights;
  weights.within = -0.5 * pull(at.coordinates, sigma);
  solve_lower_transposed(lower, weights.within);
  weights.within.transposeInPlace();
  solve_lower_transposed(lower, weights.within);
  weights.rows = -0.5 * sites().precision;
  Matrix spread = -sigma;
  spread.diagonal().array() += 1.0;
  solve_lower_transposed(lower, spread);
  Vector dual = at.coordinates;
  solve_lower_transposed(lower, dual);
  weights.to_rows = [&](Index begin, Index end) {
    Matrix block = geometry_->whitened_rows(begin, end);
    block.array().rowwise() *= sites().precision.segment(begin, end - begin).transpose().array();
    Matrix out = times(spread, block);
    out += dual * rows.dual.segment(begin, end - begin).transpose();
    return out;
  };
  const GaussianProcess& process = basis().process();
  const auto [kernel, inputs] = basis().contract(weights, learns_inputs(process), geometry_->threads());
  ParameterGradient gradient;
  put_kernel_gradient(process, kernel, gradient);
  if (inputs.size() > 0) put_input_gradient(inputs, gradient);
  return gradient;
}

RoundingError InducingCore::rounding_error(const LatentPoint& at) {
  // To first order, for errors of the covariances that are independent of one another and as large as rounding leaves
  // them: in log Z they act by the weights of prior_gradient(), whose norms are bounded with A'T^2 A <= max|tau| A'T A.
  RoundingError out = PrecisionCore::rounding_error(at);
  const RowMarginals q = marginals(at);
  const Vector prior = prior_variances();
  const double size = rounding_unit * std::max(prior.maxCoeff(), basis().variances().maxCoeff());
  const Matrix& lower = basis().triangle();
  const auto tau = sites().precision.array().abs();

  Matrix inverse = lower;
  invert_lower(inverse);
  inverse = inverse.triangularView<Eigen::Lower>().toDenseMatrix();
  const Vector dual = inverse.transpose() * at.coordinates;
  Matrix left = inverse;  // L_A^-1 L^-1: what q leaves open of z, in units of its prior.
  solve_lower(*factor(), left);
  Matrix gained = factor()->triangularView<Eigen::Lower>();  // L^-T L_A.
  solve_lower_transposed(lower, gained);
  const Matrix within = transposed_times(inverse, times(pull(at.coordinates, covariance()), inverse));

  out.log_evidence +=
      size * (q.dual.norm() * dual.norm() + std::sqrt(tau.maxCoeff()) * gained.norm() + 0.5 * within.norm());
  const Vector deviation = q.variance.cwiseSqrt();
  const Vector rows = Vector::Constant(q.variance.size(), size * dual.norm());
  out.mean += size * (left.norm() * (q.dual.norm() + dual.norm()) + std::sqrt(tau.sum()) * dual.norm()) +
              largest_ratio(rows, deviation);
  const Vector variances = size * (1.0 + 2.0 * inverse.norm() * prior.array().sqrt());
  out.variance += largest_ratio(variances, q.variance);
  out.gradient = std::max(out.gradient, 2.0 * out.log_evidence);
  return out;
}

std::unique_ptr<PosteriorLaw> InducingCore::law(const LatentPoint& at) const {
  return std::make_unique<InducingLaw>(std::make_shared<PriorGeometry>(geometry_->basis(), geometry_->threads()),
                                       factor(), at.coordinates);
}

}  // namespace gaussmith
