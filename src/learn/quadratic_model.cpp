#include "learn/quadratic_model.hpp"

#include "linalg/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gaussmith {

namespace {

/// Terms kept: more than the evaluations of nearly every search.
constexpr std::size_t most_terms = 250;
/// A rank-one update is skipped where its denominator is this small beside its vectors.
constexpr double least_cosine = 1e-8;
/// The step is solved to this part of the gradient.
constexpr double step_tolerance = 1e-10;

/// How far along `direction` the box reaches from `at`, and the coordinate that ends it.
struct Reach {
  double length;
  Index coordinate;
};

Reach reach(const Vector& at, const Vector& direction, const Vector& lower, const Vector& upper) {
  Reach out{std::numeric_limits<double>::infinity(), -1};
  for (Index i = 0; i < at.size(); ++i) {
    if (direction(i) == 0.0) continue;
    const double room = ((direction(i) > 0.0 ? upper(i) : lower(i)) - at(i)) / direction(i);
    if (room < out.length) out = {std::max(room, 0.0), i};
  }
  return out;
}

}  // namespace

void QuadraticModel::reset(double scale) {
  scale_ = scale;
  guessed_ = true;
  terms_.clear();
}

void QuadraticModel::set(const Matrix& hessian, const std::vector<Index>& coordinates, double scale) {
  reset(scale);
  guessed_ = false;
  if (coordinates.empty()) return;
  const SymmetricEigen eigen = symmetric_eigen(hessian);
  for (Index k = 0; k < eigen.values.size(); ++k) {
    Term term{eigen.values(k) + scale, Vector::Zero(dimension_)};
    for (std::size_t c = 0; c < coordinates.size(); ++c)
      term.direction(coordinates[c]) = eigen.vectors(static_cast<Index>(c), k);
    terms_.push_back(std::move(term));
  }
}

void QuadraticModel::update(const Vector& step, const Vector& change) {
  if (guessed_) {
    // The first curvature seen is a better guess of the others.
    const double seen = change.norm() / step.norm();
    if (std::isfinite(seen) && seen > 0.0) scale_ = seen;
    guessed_ = false;
  }
  const Vector rest = change - times(step);
  const double product = rest.dot(step);
  if (!(std::abs(product) > least_cosine * rest.norm() * step.norm())) return;
  terms_.push_back({1.0 / product, rest});
  if (terms_.size() > most_terms) terms_.pop_front();
}

Vector QuadraticModel::times(const Vector& v) const {
  Vector out = -scale_ * v;
  for (const Term& term : terms_) out += term.weight * term.direction.dot(v) * term.direction;
  return out;
}

double QuadraticModel::gain(const Vector& gradient, const Vector& step) const {
  return gradient.dot(step) + 0.5 * step.dot(times(step));
}

Vector QuadraticModel::best_step(const Vector& gradient, const Vector& lower, const Vector& upper) const {
  Vector step = Vector::Zero(dimension_);
  const double goal = step_tolerance * gradient.lpNorm<Eigen::Infinity>();
  // A coordinate that meets its bound stays there until the rest is solved, then may leave again.
  std::vector<bool> held(static_cast<std::size_t>(dimension_), false);
  const auto in_free = [&](Vector v) {
    for (Index i = 0; i < v.size(); ++i)
      if (held[static_cast<std::size_t>(i)]) v(i) = 0.0;
    return v;
  };
  bool released = true;
  for (Index round = 0; round < 4 * dimension_ + 8; ++round) {
    Vector residual = in_free(gradient + times(step));
    if (residual.lpNorm<Eigen::Infinity>() <= goal) {
      if (!released) break;
      released = false;
      const Vector slope = gradient + times(step);
      for (Index i = 0; i < dimension_; ++i) {
        const auto k = static_cast<std::size_t>(i);
        const bool pushes = (slope(i) > 0.0 && step(i) >= upper(i)) || (slope(i) < 0.0 && step(i) <= lower(i));
        if (held[k] && !pushes && std::abs(slope(i)) > goal) {
          held[k] = false;
          released = true;
        }
      }
      if (!released) break;
      continue;
    }
    released = true;
    Vector direction = residual;
    double norm = residual.squaredNorm();
    for (Index k = 0; k < 2 * dimension_ + 2; ++k) {
      const Vector curved = in_free(times(direction));
      const double bend = direction.dot(curved);
      const Reach end = reach(step, direction, lower, upper);
      const double newton = bend < 0.0 ? -norm / bend : std::numeric_limits<double>::infinity();
      if (!(newton < end.length)) {
        step = (step + end.length * direction).cwiseMax(lower).cwiseMin(upper);
        if (end.coordinate >= 0) {
          step(end.coordinate) = direction(end.coordinate) > 0.0 ? upper(end.coordinate) : lower(end.coordinate);
          held[static_cast<std::size_t>(end.coordinate)] = true;
        }
        break;
      }
      step += newton * direction;
      residual += newton * curved;
      const double next = residual.squaredNorm();
      if (residual.lpNorm<Eigen::Infinity>() <= goal) break;
      direction = residual + next / norm * direction;
      norm = next;
    }
  }
  return step.cwiseMax(lower).cwiseMin(upper);
}

}  // namespace gaussmith
