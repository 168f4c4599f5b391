#include "families/plane_search.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr int most_trials = 30;
constexpr int most_steps = 6;
/// The search ends when its gradient, in units of its own curvature, has fallen this far.
constexpr double enough = 0.05;
/// Below this share of the bound a promised rise drowns in what rounding and quadrature leave in it; a step that brings
/// the gradient down is then taken although the bound seems to fall, by as much at most.
constexpr double noise = 1e-9;

/// The bound on the plane: coefficients are those of the mean parts, then those of the root parts.
class Plane {
 public:
  Plane(const FamilyObjective& objective, const std::vector<const FamilyDirection*>& directions,
        const FamilyPoint& point)
      : objective_(&objective), directions_(&directions), point_(&point), k_(static_cast<Index>(directions.size())) {
    std::vector<const ProjectedRoot*> roots = {&point.at.root};
    for (const auto* d : directions) roots.push_back(&d->root);
    // What is known from the step before needs no pass over the design: |C h|^2 and the products of the last step.
    std::vector<RootProducts::Pair> wanted;
    std::vector<Index> columns;
    inner_.resize(objective.rows(), (k_ + 1) * (k_ + 2) / 2);
    for (Index a = 0; a <= k_; ++a)
      for (Index b = a; b <= k_; ++b) {
        const Index column = column_of(a, b);
        if (b == 0)
          inner_.col(column) = point.variance;
        else if (a == 0 && line(b).inner_point.size() > 0)
          inner_.col(column) = line(b).inner_point;
        else if (a == b && line(b).inner_self.size() > 0)
          inner_.col(column) = line(b).inner_self;
        else {
          wanted.emplace_back(static_cast<std::size_t>(a), static_cast<std::size_t>(b));
          columns.push_back(column);
        }
      }
    const Matrix fresh = objective.products().inner(roots, wanted);
    for (std::size_t w = 0; w < wanted.size(); ++w) inner_.col(columns[w]) = fresh.col(static_cast<Index>(w));
    mean_quadratic_.resize(k_ + 1, k_ + 1);
    root_quadratic_.resize(k_ + 1, k_ + 1);
    for (Index a = 0; a <= k_; ++a)
      for (Index b = 0; b <= k_; ++b) {
        mean_quadratic_(a, b) = line(a).mean.dot(line(b).mean_prior);
        root_quadratic_(a, b) = line(a).root.entries.dot(line(b).root_prior);
      }
  }

  [[nodiscard]] Index size() const { return 2 * k_; }
  [[nodiscard]] const FamilyDirection& line(Index a) const {
    return a == 0 ? point_->at : *(*directions_)[static_cast<std::size_t>(a - 1)];
  }
  /// (C_a h)'(C_b h); line 0 is the point itself.
  [[nodiscard]] auto inner(Index a, Index b) const { return inner_.col(column_of(std::min(a, b), std::max(a, b))); }

  /// Moments of eta and the entries of the root at these coefficients.
  void move(const Vector& x, Vector& eta, Vector& variance, Vector& entries) const {
    eta = point_->at.eta;
    entries = point_->at.root.entries;
    variance = inner(0, 0);
    for (Index a = 1; a <= k_; ++a) {
      eta += x(a - 1) * line(a).eta;
      entries += x(k_ + a - 1) * line(a).root.entries;
      variance += 2.0 * x(k_ + a - 1) * inner(0, a);
      for (Index b = 1; b <= k_; ++b) variance += x(k_ + a - 1) * x(k_ + b - 1) * inner(a, b);
    }
    // The quadratic form of a nearly singular direction may round below zero.
    variance = variance.cwiseMax(std::numeric_limits<double>::min());
  }

  /// The bound, its gradient and the model's curvature (site precisions fixed) at x.
  double evaluate(const Vector& x, Vector& d_mean, Vector& d_variance, Vector& gradient, Matrix* curvature) const {
    Vector eta;
    Vector variance;
    Vector entries;
    move(x, eta, variance, entries);
    Vector entropy_gradient;
    const double entropy = objective_->entropy(entries, &entropy_gradient);
    if (!std::isfinite(entropy)) return entropy;
    Vector mean_weight = Vector::Ones(k_ + 1);
    Vector root_weight = Vector::Ones(k_ + 1);
    mean_weight.tail(k_) = x.head(k_);
    root_weight.tail(k_) = x.tail(k_);
    const Vector mean_prior = mean_quadratic_ * mean_weight;
    const Vector root_prior = root_quadratic_ * root_weight;
    const double value = objective_->expectation(eta, variance, d_mean, d_variance) + entropy -
                         0.5 * mean_weight.dot(mean_prior) - 0.5 * root_weight.dot(root_prior) +
                         objective_->space().constant;
    if (!std::isfinite(value)) return value;
    gradient.resize(2 * k_);
    for (Index a = 1; a <= k_; ++a) {
      gradient(a - 1) = d_mean.dot(line(a).eta) - mean_prior(a);
      double sum = entropy_gradient.dot(line(a).root.entries) - root_prior(a);
      for (Index b = 0; b <= k_; ++b) sum += 2.0 * root_weight(b) * d_variance.dot(inner(a, b));
      gradient(k_ + a - 1) = sum;
    }
    if (curvature) {
      const Vector tau = (-2.0 * d_variance).cwiseMax(0.0);
      *curvature = Matrix::Zero(2 * k_, 2 * k_);
      const RootPattern& p = objective_->space().pattern;
      for (Index a = 1; a <= k_; ++a)
        for (Index b = 1; b <= k_; ++b) {
          (*curvature)(a - 1, b - 1) =
              (tau.array() * line(a).eta.array() * line(b).eta.array()).sum() + mean_quadratic_(a, b);
          double sum = tau.dot(inner(a, b)) + root_quadratic_(a, b);
          for (Index j = 0; p.triangular && j < p.columns; ++j) {
            const Index e = p.diagonal(j);
            sum += objective_->space().multiplicity(p.row[static_cast<std::size_t>(e)]) * line(a).root.entries(e) *
                   line(b).root.entries(e) / (entries(e) * entries(e));
          }
          (*curvature)(k_ + a - 1, k_ + b - 1) = sum;
        }
    }
    return value;
  }

 private:
  [[nodiscard]] Index column_of(Index a, Index b) const { return a * (k_ + 1) - a * (a - 1) / 2 + (b - a); }

  const FamilyObjective* objective_;
  const std::vector<const FamilyDirection*>* directions_;
  const FamilyPoint* point_;
  Index k_;
  Matrix inner_;
  Matrix mean_quadratic_, root_quadratic_;
};

/// Newton's direction for a small positive semi-definite curvature: nearly dependent directions get a ridge.
Vector small_solve(Matrix b, const Vector& g) {
  const Vector scale = b.diagonal().unaryExpr([](double x) { return x > 0.0 ? 1.0 / std::sqrt(x) : 0.0; });
  b = scale.asDiagonal() * b * scale.asDiagonal();
  b.diagonal().array() += 1e-10;
  return scale.cwiseProduct(b.ldlt().solve(scale.cwiseProduct(g)));
}

}  // namespace

bool plane_search(const FamilyObjective& objective, const std::vector<const FamilyDirection*>& directions,
                  FamilyPoint& point, FamilyDirection& taken) {
  const Plane plane(objective, directions, point);
  const auto k = static_cast<Index>(directions.size());
  Vector x = Vector::Zero(plane.size());
  Vector gradient;
  Matrix curvature;
  Vector d_mean = point.d_mean;
  Vector d_variance = point.d_variance;
  double value = plane.evaluate(x, d_mean, d_variance, gradient, &curvature);
  if (!std::isfinite(value)) return false;
  double first_decrement = -1.0;
  bool moved = false;
  int trials = 0;
  for (int k_step = 0; k_step < most_steps; ++k_step) {
    const Vector d = small_solve(curvature, gradient);
    const double decrement = gradient.dot(d);
    if (!(decrement > 0.0) || !d.allFinite()) break;
    if (first_decrement < 0.0) first_decrement = decrement;
    if (moved && decrement < enough * enough * first_decrement) break;
    const double least = noise * (1.0 + std::abs(value));
    const bool near = decrement < least;
    double length = 1.0;
    bool accepted = false;
    Vector next_gradient;
    Vector next_mean;
    Vector next_variance;
    for (; trials < most_trials; ++trials, length *= 0.5) {
      const Vector trial = x + length * d;
      const double next = plane.evaluate(trial, next_mean, next_variance, next_gradient, nullptr);
      if (!std::isfinite(next)) continue;
      const bool rises = next >= value + 1e-4 * length * decrement;
      const bool flat =
          near && next >= value - least && next_gradient.dot(small_solve(curvature, next_gradient)) < 0.8 * decrement;
      if (!rises && !flat) continue;
      // BFGS on the small matrix: what the model leaves out, the change of the precisions, comes in here.
      const Vector s = length * d;
      const Vector y = gradient - next_gradient;
      const double sy = s.dot(y);
      const Vector bs = curvature * s;
      const double sbs = s.dot(bs);
      if (sy > 1e-10 * std::sqrt(s.squaredNorm() * y.squaredNorm()) && sbs > 0.0)
        curvature += y * y.transpose() / sy - bs * bs.transpose() / sbs;
      x = trial;
      value = next;
      gradient = next_gradient;
      d_mean = next_mean;
      d_variance = next_variance;
      accepted = moved = true;
      ++trials;
      break;
    }
    if (!accepted) break;
  }
  if (!moved) return false;
  FamilyDirection step = *directions[0];
  step.mean *= x(0);
  step.eta *= x(0);
  step.mean_prior *= x(0);
  step.root.scale(x(k));
  step.root_prior *= x(k);
  for (Index a = 1; a < k; ++a) {
    const FamilyDirection& d = *directions[static_cast<std::size_t>(a)];
    step.mean += x(a) * d.mean;
    step.eta += x(a) * d.eta;
    step.mean_prior += x(a) * d.mean_prior;
    step.root.add(x(k + a), d.root);
    step.root_prior += x(k + a) * d.root_prior;
  }
  step.inner_point = Vector::Zero(objective.rows());
  step.inner_self = Vector::Zero(objective.rows());
  for (Index a = 1; a <= k; ++a) {
    step.inner_point += x(k + a - 1) * plane.inner(0, a);
    for (Index b = 1; b <= k; ++b) step.inner_self += x(k + a - 1) * x(k + b - 1) * plane.inner(a, b);
  }
  step.inner_point += step.inner_self;
  Vector eta;
  Vector entries;
  plane.move(x, eta, point.variance, entries);
  point.at.mean += step.mean;
  point.at.eta = std::move(eta);
  point.at.mean_prior += step.mean_prior;
  point.at.root.add(1.0, step.root);
  point.at.root_prior += step.root_prior;
  point.value = value;
  point.d_mean = std::move(d_mean);
  point.d_variance = std::move(d_variance);
  taken = std::move(step);
  return true;
}

}  // namespace gaussmith
