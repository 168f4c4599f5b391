#include "support/plane_truth.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace gaussmith::testing {

namespace {

/// Below the largest log density by this much there is nothing.
constexpr double depth = 40.0;

struct LogJoint {
  const Model& model;
  Matrix design;
  Vector offset;
  Isotropic prior;

  explicit LogJoint(const Model& m) : model(m), prior(std::get<Isotropic>(m.prior)) {
    const Index d = prior.mean.size();
    if (d > 2) throw std::logic_error("a plane has two weights at most");
    design = m.design.is_identity() ? Matrix(Matrix::Identity(d, d)) : m.design.times(Matrix(Matrix::Identity(d, d)));
    offset = m.offset.size() > 0 ? m.offset : Vector(Vector::Zero(design.rows()));
  }

  /// Of all nodes, one column each.
  [[nodiscard]] Vector at(const Matrix& w) const {
    Vector total = (-0.5 / prior.variance) * (w.colwise() - prior.mean).colwise().squaredNorm().transpose();
    total.array() -= 0.5 * static_cast<double>(w.rows()) * std::log(2.0 * M_PI * prior.variance);
    Vector eta(design.rows());
    Vector value(design.rows());
    for (Index j = 0; j < w.cols(); ++j) {
      eta = design * w.col(j) + offset;
      Index row = 0;
      for (const Sites& block : model.sites) {
        const Index size = block->size();
        block->log_density(0, ConstSpan(eta.data() + row, static_cast<std::size_t>(size)),
                           {Span(value.data() + row, static_cast<std::size_t>(size)), {}, {}, {}});
        row += size;
      }
      if (model.weights.size() > 0) value.array() *= model.weights.array();
      total(j) += value.sum();
    }
    return total;
  }
};

Matrix grid(const Vector& low, const Vector& high, int steps) {
  const Index d = low.size();
  Matrix nodes(d, d == 1 ? steps : steps * steps);
  for (Index j = 0; j < nodes.cols(); ++j)
    for (Index i = 0; i < d; ++i) {
      const auto place = static_cast<double>(i == 0 ? j % steps : j / steps);
      nodes(i, j) = low(i) + (high(i) - low(i)) * place / static_cast<double>(steps - 1);
    }
  return nodes;
}

}  // namespace

PlaneTruth plane_truth(const Model& model, int steps) {
  const LogJoint joint(model);
  const Index d = joint.prior.mean.size();
  const double reach = 9.0 * std::sqrt(joint.prior.variance);
  Vector low = joint.prior.mean.array() - reach;
  Vector high = joint.prior.mean.array() + reach;
  PlaneTruth truth;
  Vector value;
  for (int round = 0; round < 6; ++round) {
    truth.nodes = grid(low, high, round < 5 ? 41 : steps);
    value = joint.at(truth.nodes);
    if (round == 5) break;
    const double most = value.maxCoeff();
    const Vector width = (high - low) / 40.0;
    Vector inner_low = high;
    Vector inner_high = low;
    for (Index j = 0; j < value.size(); ++j) {
      if (value(j) < most - depth) continue;
      inner_low = inner_low.cwiseMin(truth.nodes.col(j));
      inner_high = inner_high.cwiseMax(truth.nodes.col(j));
    }
    low = low.cwiseMax(inner_low - width);
    high = high.cwiseMin(inner_high + width);
  }
  const double most = value.maxCoeff();
  truth.mass = (value.array() - most).exp();
  const double total = truth.mass.sum();
  truth.log_evidence = most + std::log(total);
  for (Index i = 0; i < d; ++i) truth.log_evidence += std::log((high(i) - low(i)) / static_cast<double>(steps - 1));
  truth.mass /= total;
  truth.weights_mean = truth.nodes * truth.mass;
  const Matrix centred = truth.nodes.colwise() - truth.weights_mean;
  const Matrix covariance = centred * truth.mass.asDiagonal() * centred.transpose();
  truth.weights_sd = covariance.diagonal().array().sqrt();
  truth.rows_mean = joint.design * truth.weights_mean + joint.offset;
  truth.rows_sd = (joint.design * covariance * joint.design.transpose()).diagonal().array().sqrt();
  return truth;
}

LineTruth line_truth(const PlaneTruth& truth, const Vector& b, double offset) {
  const Vector x = truth.nodes.transpose() * b;
  const double mean = truth.mass.dot(x);
  const double variance = truth.mass.dot((x.array() - mean).square().matrix());
  const double third = truth.mass.dot((x.array() - mean).cube().matrix());
  return {mean + offset, std::sqrt(variance), third / std::pow(variance, 1.5)};
}

Vector line_density(const Model& model, const PlaneTruth& truth, const Vector& b, double offset, const Vector& x) {
  const LogJoint joint(model);
  Vector density(x.size());
  if (b.size() == 1) {
    Matrix w(1, x.size());
    w.row(0) = (x.array() - offset).matrix().transpose() / b(0);
    return ((joint.at(w).array() - truth.log_evidence).exp() / std::abs(b(0))).matrix();
  }
  // On the line w = c b/|b|^2 + s p with p orthonormal to b; the density carries 1/|b|.
  const double length = b.norm();
  const Vector across = (Vector(2) << -b(1), b(0)).finished() / length;
  const Vector places = truth.nodes.transpose() * across;
  const double low = places.minCoeff();
  const double high = places.maxCoeff();
  constexpr Index steps = 301;
  Matrix w(2, steps);
  for (Index i = 0; i < x.size(); ++i) {
    for (Index j = 0; j < steps; ++j)
      w.col(j) = (x(i) - offset) / (length * length) * b +
                 (low + (high - low) * static_cast<double>(j) / static_cast<double>(steps - 1)) * across;
    density(i) =
        (joint.at(w).array() - truth.log_evidence).exp().sum() * (high - low) / static_cast<double>(steps - 1) / length;
  }
  return density;
}

}  // namespace gaussmith::testing
