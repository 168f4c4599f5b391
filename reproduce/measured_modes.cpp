#include "measured_modes.hpp"

#include <Eigen/Cholesky>

#include <cmath>

namespace reproduce {

namespace {

constexpr int most_steps = 400;
constexpr double settled = 1e-5;

}  // namespace

gs::Vector laplace_mode(const Measured& measured, const gs::Design& b, const gs::Matrix& gram,
                        const gs::Vector& scale) {
  // In units in which the penalty of a typical row is 1: the step of the multipliers.
  const double rho = 2.0 / scale.cwiseAbs2().mean();
  const gs::Matrix normal = measured.rows.transpose() * measured.rows / measured.variance + rho * gram;
  const Eigen::LLT<gs::Matrix> factor(normal);
  const gs::Vector pull = measured.rows.transpose() * measured.values / measured.variance;
  const gs::Vector threshold = (rho * scale).cwiseInverse();
  gs::Vector w = gs::Vector::Zero(gram.rows());
  gs::Vector split = gs::Vector::Zero(scale.size());
  gs::Vector multiplier = split;
  for (int step = 0; step < most_steps; ++step) {
    const gs::Vector wanted = split - multiplier;
    const gs::Vector next = factor.solve(pull + rho * b.transposed_times(wanted));
    const gs::Vector seen = b.times(next);
    const gs::Vector before = split;
    split = seen + multiplier;
    split = split.array().sign() * (split.cwiseAbs() - threshold).cwiseMax(0.0).array();
    multiplier += seen - split;
    const double moved = (next - w).norm() + (split - seen).norm() + (split - before).norm();
    w = next;
    if (moved < settled * (1.0 + w.norm())) break;
  }
  return w;
}

gs::Vector student_mode(const Measured& measured, double nu, double scale) {
  gs::Vector spread = gs::Vector::Constant(measured.rows.cols(), scale * scale * nu / (nu + 1.0));
  gs::Vector w = gs::Vector::Zero(spread.size());
  for (int step = 0; step < most_steps; ++step) {
    const gs::Matrix scaled = measured.rows * spread.asDiagonal();
    gs::Matrix s = scaled * measured.rows.transpose();
    s.diagonal().array() += measured.variance;
    const gs::Vector next = scaled.transpose() * s.llt().solve(measured.values);
    const double moved = (next - w).norm();
    w = next;
    spread = (nu * scale * scale + w.array().square()) / (nu + 1.0);
    if (moved < settled * (1.0 + w.norm())) break;
  }
  return w;
}

}  // namespace reproduce
