#include "numerics/ndtr_product.hpp"

#include "numerics/special.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace gaussmith {

namespace {

/// The integrand falls by exp(-reach^2/2) or more over this distance from its mode.
constexpr double reach = 9.0;
/// Step in units of the shortest length on which the integrand bends: the rule errs by exp(-2 pi^2/step^2).
constexpr double relative_step = 0.72;
constexpr double left_tail = -8.0;
/// Offsets beyond this leave derivatives that underflow.
constexpr double largest_offset = 55.0;

double step_of(const Matrix& loadings, Index axis) {
  return relative_step / std::sqrt(1.0 + loadings.col(axis).squaredNorm());
}

}  // namespace

NdtrProduct::NdtrProduct(Index factors)
    : offset_(factors),
      argument_(factors),
      slope_(factors),
      bend_(factors),
      slope_sum_(factors),
      bend_sum_(factors),
      mode_argument_(factors),
      value_at_mode_(factors),
      slope_at_mode_(factors),
      excess_at_mode_(factors),
      square_sum_(factors, factors) {}

double NdtrProduct::node_count(const Matrix& loadings) {
  double count = 1.0;
  for (Index axis = 0; axis < loadings.cols(); ++axis) count *= 1.0 + 2.0 * reach / step_of(loadings, axis);
  return count;
}

/// Newton to the maximum of -|z|^2/2 + sum_j log Phi(o_j + l_j'z), near enough for a window about it.
void NdtrProduct::find_mode() {
  const auto value_at = [&](const Vector& z) {
    argument_ = offset_;
    argument_.noalias() += loadings_ * z;
    double value = -0.5 * z.squaredNorm();
    for (Index j = 0; j < argument_.size(); ++j) value += log_ndtr(argument_(j));
    return value;
  };
  centre_.setZero(loadings_.cols());
  if (loadings_.cols() == 0) return;
  double value = value_at(centre_);
  for (int iteration = 0; iteration < 100; ++iteration) {
    argument_ = offset_;
    argument_.noalias() += loadings_ * centre_;
    for (Index j = 0; j < argument_.size(); ++j) {
      const LogNdtrDerivatives f = log_ndtr_derivatives(argument_(j));
      slope_(j) = f.first;
      bend_(j) = f.second;
    }
    curvature_ = -(loadings_.transpose() * bend_.asDiagonal() * loadings_);
    curvature_.diagonal().array() += 1.0;
    step_ = loadings_.transpose() * slope_ - centre_;
    step_ = curvature_.llt().solve(step_);
    if (step_.cwiseAbs().maxCoeff() < 1e-2) break;
    double next = value_at(centre_ + step_);
    while (next < value && step_.cwiseAbs().maxCoeff() > 1e-2) {
      step_ *= 0.5;
      next = value_at(centre_ + step_);
    }
    centre_ += step_;
    value = next;
  }
}

/// Adds the node whose arguments are in `argument_`; slopes enter as differences to those at the mode, so that their
/// covariance does not cancel, and so do the logarithms, of which only what is beyond first order counts: far out in
/// the left tail log Phi(x) = -x^2/2 - log r(x) - log sqrt(2 pi), r = phi/Phi, is large and its remainder is not.
void NdtrProduct::add_node(double weight_log, bool with_second) {
  const Index factors = argument_.size();
  double log_value = weight_log;
  for (Index j = 0; j < factors; ++j) {
    const LogNdtrDerivatives f = log_ndtr_derivatives(argument_(j));
    const double away = argument_(j) - mode_argument_(j);
    if (std::max(argument_(j), mode_argument_(j)) < left_tail)
      log_value -= away * (0.5 * away + excess_at_mode_(j)) + std::log(f.first / slope_at_mode_(j));
    else
      log_value += (f.value - value_at_mode_(j)) - away * slope_at_mode_(j);
    slope_(j) = f.first - slope_at_mode_(j);
    bend_(j) = f.second;
  }
  const double weight = std::exp(log_value);
  weight_sum_ += weight;
  slope_sum_.noalias() += weight * slope_;
  if (!with_second) return;
  bend_sum_.noalias() += weight * bend_;
  for (Index j = 0; j < factors; ++j) square_sum_.col(j).head(j + 1) += (weight * slope_(j)) * slope_.head(j + 1);
}

double NdtrProduct::log_integral(const Vector& offset, const Matrix& loadings, Span first, Span second) {
  const Index factors = offset.size();
  const Index axes = loadings.cols();
  assert(axes <= 2 && loadings.rows() == factors && slope_.size() == factors);
  offset_ = offset;
  loadings_ = loadings;
  find_mode();
  argument_ = offset_;
  argument_.noalias() += loadings_ * centre_;
  double log_mode = -0.5 * centre_.squaredNorm();
  for (Index j = 0; j < factors; ++j) {
    const LogNdtrDerivatives f = log_ndtr_derivatives(argument_(j));
    log_mode += f.value;
    mode_argument_(j) = argument_(j);
    value_at_mode_(j) = f.value;
    slope_at_mode_(j) = f.first;
    excess_at_mode_(j) = -f.second / f.first;  // r + x.
  }
  // What is left of the first order, the mode being a rough one.
  step_ = loadings_.transpose() * slope_at_mode_ - centre_;
  weight_sum_ = 0.0;
  slope_sum_.setZero();
  bend_sum_.setZero();
  square_sum_.setZero();
  const bool with_second = !second.empty();
  double log_cell = 0.0;
  if (axes == 0) {
    add_node(0.0, with_second);
  } else {
    const double width = step_of(loadings_, 0);
    log_cell = std::log(width) - log_sqrt_two_pi;
    double low = -reach, high = reach;
    if (axes == 1 && !first.empty()) {
      // Where a factor is nearly 1, its derivatives live in the tail in which it is not.
      for (Index j = 0; j < factors; ++j) {
        const double l = loadings_(j, 0);
        const double tail = -4.0 / 3.0 * std::clamp(offset_(j), 0.0, largest_offset) * l / (1.0 + l * l) - centre_(0);
        low = std::min(low, tail - 7.0);
        high = std::max(high, tail + 7.0);
      }
    }
    const auto from = static_cast<Index>(std::floor(low / width));
    const auto to = static_cast<Index>(std::ceil(high / width));
    const double across = axes == 2 ? step_of(loadings_, 1) : 1.0;
    const auto half = axes == 2 ? static_cast<Index>(std::ceil(reach / across)) : Index{0};
    if (axes == 2) log_cell += std::log(across) - log_sqrt_two_pi;
    for (Index i = from; i <= to; ++i) {
      const double x = static_cast<double>(i) * width;
      for (Index k = -half; k <= half; ++k) {
        argument_ = mode_argument_ + x * loadings_.col(0);
        double log_weight = x * (step_(0) - 0.5 * x);
        if (axes == 2) {
          const double y = static_cast<double>(k) * across;
          argument_ += y * loadings_.col(1);
          log_weight += y * (step_(1) - 0.5 * y);
        }
        add_node(log_weight, with_second);
      }
    }
  }
  slope_sum_ /= weight_sum_;
  if (!first.empty()) Eigen::Map<Vector>(first.data(), factors) = slope_at_mode_ + slope_sum_;
  if (with_second) {
    Eigen::Map<Matrix> hessian(second.data(), factors, factors);
    for (Index j = 0; j < factors; ++j)
      for (Index i = 0; i <= j; ++i)
        hessian(i, j) = hessian(j, i) = square_sum_(i, j) / weight_sum_ - slope_sum_(i) * slope_sum_(j) +
                                        (i == j ? bend_sum_(i) / weight_sum_ : 0.0);
  }
  return log_mode + std::log(weight_sum_) + log_cell;
}

}  // namespace gaussmith
