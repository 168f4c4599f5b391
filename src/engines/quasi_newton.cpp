#include "engines/quasi_newton.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace gaussmith {

namespace {

constexpr std::size_t memory = 12;
constexpr double sufficient_decrease = 1e-4;
constexpr double flat_enough = 0.9;
/// Values are known to this share of themselves; within it slopes alone decide.
constexpr double rounding = 1e-13;
constexpr int most_trials = 40;
constexpr double into_domain = 0.2;

}  // namespace

double QuasiNewton::evaluate(const Vector& x, Vector& gradient) {
  ++evaluations_;
  const double value = function_(x, gradient);
  return std::isfinite(value) && gradient.allFinite() ? value : std::numeric_limits<double>::infinity();
}

Vector QuasiNewton::direction() const {
  Vector q = gradient_;
  std::vector<double> share(pairs_.size());
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    share[i] = pairs_[i].step.dot(q) / pairs_[i].product;
    q -= share[i] * pairs_[i].change;
  }
  if (inverse_)
    q = inverse_(q);
  else if (!pairs_.empty())
    q *= pairs_.front().product / pairs_.front().change.squaredNorm();
  else
    q *= 1.0 / std::max(1.0, q.norm());
  for (std::size_t i = pairs_.size(); i-- > 0;)
    q += (share[i] - pairs_[i].change.dot(q) / pairs_[i].product) * pairs_[i].step;
  return -q;
}

bool QuasiNewton::search(const Vector& along, double slope, int most) {
  const double slack = rounding * (1.0 + std::abs(value_));
  double low = 0.0;
  double high = std::numeric_limits<double>::infinity();
  double low_slope = slope;
  double length = 1.0;
  Vector best;
  Vector best_gradient;
  double best_value = value_;
  for (int trial = 0; trial < most_trials && evaluations_ < most; ++trial) {
    const Vector x = x_ + length * along;
    Vector gradient;
    const double value = evaluate(x, gradient);
    const double end_slope = std::isfinite(value) ? gradient.dot(along) : 0.0;
    const bool exact = value <= value_ + sufficient_decrease * length * slope;
    // Hager and Zhang: where values no longer tell, slopes do.
    const bool by_slope = value <= value_ + slack && end_slope <= (2.0 * sufficient_decrease - 1.0) * slope;
    if (exact || by_slope) {
      if (best.size() == 0 || value < best_value || by_slope) {
        best = x;
        best_gradient = gradient;
        best_value = value;
      }
      if (std::abs(end_slope) <= -flat_enough * slope) break;
    }
    if (!std::isfinite(value)) {
      high = length;
      length = low + into_domain * (length - low);
    } else if ((exact || by_slope) && end_slope < 0.0) {
      // Still falling: to where the secant of the slopes vanishes.
      const double next = length + (length - low) * end_slope / std::min(low_slope - end_slope, -1e-300);
      low = length;
      low_slope = end_slope;
      length = std::isfinite(high) ? 0.5 * (low + high) : std::min(std::max(next, 1.5 * length), 8.0 * length);
    } else {
      high = length;
      const double secant = low + (length - low) * low_slope / std::min(low_slope - end_slope, -1e-300);
      const double span = high - low;
      length = std::min(std::max(secant, low + 0.1 * span), high - 0.3 * span);
    }
    if (high - low < 1e-12 * (1.0 + low)) break;
  }
  if (best.size() == 0) return false;
  Pair pair{best - x_, best_gradient - gradient_, 0.0};
  pair.product = pair.step.dot(pair.change);
  if (pair.product > 1e-14 * pair.step.norm() * pair.change.norm()) {
    pairs_.push_front(std::move(pair));
    if (pairs_.size() > memory) pairs_.pop_back();
  }
  x_ = std::move(best);
  gradient_ = std::move(best_gradient);
  value_ = best_value;
  return true;
}

QuasiNewtonEnd QuasiNewton::minimise(Vector x, int most, const std::function<bool(const Vector&, double)>& over) {
  x_ = std::move(x);
  value_ = evaluate(x_, gradient_);
  while (!over(x_, value_)) {
    if (evaluations_ >= most) return QuasiNewtonEnd::evaluations;
    Vector along = direction();
    double slope = gradient_.dot(along);
    if (!(slope < 0.0)) {
      pairs_.clear();
      along = direction();
      slope = gradient_.dot(along);
      if (!(slope < 0.0)) return QuasiNewtonEnd::stuck;
    }
    if (search(along, slope, most)) continue;
    if (pairs_.empty()) return evaluations_ >= most ? QuasiNewtonEnd::evaluations : QuasiNewtonEnd::stuck;
    pairs_.clear();
  }
  return QuasiNewtonEnd::told;
}

}  // namespace gaussmith
