#include "engines/mean_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace gaussmith {

namespace {

/// A step must gain this share of what its slope promises.
constexpr double sufficient_increase = 1e-4;
/// The slope at the end of a step may be this share of that at its beginning; otherwise the step is refined.
constexpr double flat_enough = 0.3;
constexpr int most_refinements = 8;
constexpr int most_trials = 60;
/// Trials without a gain until lengths shrink ever faster.
constexpr int patient_trials = 3;
/// Standard deviations to try where the gradient is beyond the range of doubles.
constexpr double first_descent = 10.0;
constexpr double most_growth = 8.0;
/// How far eta may be from what its coordinates say, relative to the largest eta.
constexpr double drift = 1e-13;
/// Cores that iterate solve for a step to this share of the goal, or of what the step should remove.
constexpr double solved_share = 0.1;
/// A Newton step with the sites' own curvature is solved to this share of its squared residual.
constexpr double curved_reduction = 1e-6;
constexpr int most_curved_steps = 50;

/// A difference of two points.
LatentPoint difference(const LatentPoint& to, const LatentPoint& from) {
  return {to.coordinates - from.coordinates, to.eta - from.eta};
}

LatentPoint along(const LatentPoint& from, double length, const LatentPoint& direction) {
  return {from.coordinates + length * direction.coordinates, from.eta + length * direction.eta};
}

/// Evaluates the objective on a line, on which the prior's share is a parabola.
class Line {
 public:
  Line(const GaussianCore& core, const SiteRows& sites, const Vector& variance, const SmoothedPoint& from,
       const LatentPoint& direction)
      : sites_(sites), variance_(variance), from_(from), direction_(direction) {
    // The direction as a point seen from the prior's centre, so that its inner products do not come from cancellation.
    const LatentPoint arrow{direction.coordinates, direction.eta + core.prior_mean()};
    penalty_ = 0.5 * core.inner(from.at, from.at);
    linear_ = core.inner(from.at, arrow);
    square_ = std::max(0.0, core.inner(arrow, arrow));
  }

  /// The point at a length and the slope of the objective there.
  [[nodiscard]] std::pair<SmoothedPoint, double> at(double length) const {
    SmoothedPoint out;
    out.at = along(from_.at, length, direction_);
    Vector value;
    sites_.expectation(out.at.eta, variance_, &value, &out.d_mean, &out.d_variance);
    out.objective = value.sum() - penalty_ - length * linear_ - 0.5 * length * length * square_;
    const double slope = out.d_mean.dot(direction_.eta) - linear_ - length * square_;
    return {std::move(out), slope};
  }

  /// The slope of the objective at the beginning.
  [[nodiscard]] double slope() const { return from_.d_mean.dot(direction_.eta) - linear_; }

 private:
  const SiteRows& sites_;
  const Vector& variance_;
  const SmoothedPoint& from_;
  const LatentPoint& direction_;
  double penalty_, linear_, square_;
};

/// How far a step may go without coordinates that exceed those of the Newton target by much. A singular K does not see
/// some directions of its coordinates; long steps would let these grow until they drown eta.
double longest_step(const Vector& from, const Vector& direction, const Vector& target) {
  const double largest = std::max(most_growth * target.lpNorm<Eigen::Infinity>(), from.lpNorm<Eigen::Infinity>());
  double length = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < from.size(); ++i)
    if (direction(i) != 0.0)
      length = std::min(length, (largest - std::copysign(from(i), from(i) * direction(i))) / std::abs(direction(i)));
  return length;
}

/// A point on the line that gains enough and where the line is nearly flat; none if no length gains.
std::optional<SmoothedPoint> search(const Line& line, double objective, double slope, double longest) {
  std::optional<SmoothedPoint> best;
  double length = std::min(1.0, longest);
  double too_long = std::numeric_limits<double>::infinity();
  double good = 0.0;
  double haste = 1.0;
  for (int trial = 0; trial < most_trials; ++trial) {
    auto [point, end_slope] = line.at(length);
    const bool gains = point.objective >= objective + sufficient_increase * length * slope;
    const bool better = gains && (!best || point.objective > best->objective);
    if (better) {
      best = std::move(point);
      good = length;
    }
    if (gains && (std::abs(end_slope) <= flat_enough * slope || trial >= most_refinements)) break;
    if (best && !better) break;
    // Where the secant of the two slopes vanishes, within what is known.
    const double bend = slope - end_slope;
    double next = std::isfinite(bend) && bend > 0.0 ? length * slope / bend : most_growth * length;
    if (!gains || end_slope < 0.0) {
      too_long = length;
      next = std::clamp(next, 0.1 * length, 0.7 * length);
      // On the flank of e^eta the slope promises lengths too large by powers of ten, and secants hardly shorten them.
      if (!gains && trial >= patient_trials) next = std::min(next, (haste *= 0.1) * length);
      if (next <= good) break;
    } else {
      if (length >= longest) break;
      // Slopes of e^eta fall so fast that their secant sees only the next step.
      next = std::clamp(next, trial == 0 ? 1.2 * length : 2.0 * length, most_growth * length);
      next = std::min(next, longest);
      if (next >= too_long) break;
    }
    length = next;
  }
  return best;
}

/// The Newton step with the sites' own curvature c, by conjugate gradients preconditioned with the core's precisions
/// tau: (K^-1 + C) step = gradient. Where c is tau, as at the optimum of kl, it is `newton`, the first preconditioned
/// gradient; under tangents c < tau.
LatentPoint curved_step(const GaussianCore& core, const Vector& curvature, const Vector& precision,
                        const SmoothedPoint& point, const LatentPoint& newton, double newton_slope) {
  const Vector& prior_mean = core.prior_mean();
  Vector gradient = point.d_mean;  // Of the sites, along the quadratic.
  LatentPoint at = point.at;
  LatentPoint step{Vector::Zero(newton.coordinates.size()), Vector::Zero(newton.eta.size())};
  LatentPoint direction = newton;
  double left = newton_slope;
  for (int k = 0; k < most_curved_steps && left > curved_reduction * newton_slope; ++k) {
    const LatentPoint arrow{direction.coordinates, direction.eta + prior_mean};
    const double bend = core.inner(arrow, arrow) + curvature.dot(direction.eta.cwiseAbs2());
    const double length = left / bend;
    if (!(bend > 0.0) || !std::isfinite(length)) break;
    step = along(step, length, direction);
    gradient -= length * curvature.cwiseProduct(direction.eta);
    at = along(at, length, direction);
    const LatentPoint target = core.mean(gradient + precision.cwiseProduct(at.eta));
    const double next = core.slope(at, target, gradient);
    direction = along(difference(target, at), next / left, direction);
    left = next;
  }
  return step.eta.isZero(0.0) || !step.eta.allFinite() ? newton : step;
}

}  // namespace

SmoothedPoint smoothed_point(const GaussianCore& core, const SiteRows& sites, const Vector& variance, LatentPoint at) {
  SmoothedPoint out;
  out.at = std::move(at);
  Vector value;
  sites.expectation(out.at.eta, variance, &value, &out.d_mean, &out.d_variance);
  out.objective = value.sum() - 0.5 * core.inner(out.at, out.at);
  return out;
}

void climb_mean(GaussianCore& core, const SiteRows& sites, const Vector& precision, const Vector& variance,
                const MeanGoal& goal, SmoothedPoint& point) {
  LatentPoint direction;
  LatentPoint newton;
  SmoothedPoint before;
  bool trusted = false;
  double last_slope = 0.0;
  bool by_newton = goal.newton;
  for (int step = 0;; ++step) {
    Vector weights = precision;
    if (by_newton) {
      weights = sites.curvature(point.at.eta, variance, point.d_variance);
      by_newton = core.set({weights, Vector::Zero(weights.size())});
      if (!by_newton) {
        weights = precision;
        core.restore({precision, Vector::Zero(precision.size())});
      }
    }
    const LatentPoint target = core.mean(point.d_mean + weights.cwiseProduct(point.at.eta),
                                         {&point.at, solved_share * goal.residual, solved_share});
    const double newton_slope = core.slope(point.at, target, point.d_mean);
    point.residual = std::sqrt(std::abs(newton_slope));
    if (trusted && !(point.residual < before.residual)) {
      point = std::move(before);
      return;
    }
    if (point.residual <= goal.residual || step == goal.most_steps) return;
    const LatentPoint last_newton = std::exchange(newton, difference(target, point.at));
    const bool drowned = newton_slope <= goal.rounding * (1.0 + std::abs(point.objective));
    double slope = newton_slope;
    if (by_newton || (step == 0 && !drowned)) {
      direction = newton;
    } else if (drowned) {
      direction = curved_step(core, sites.curvature(point.at.eta, variance, point.d_variance), precision, point, newton,
                              newton_slope);
    } else {
      // Polak and Ribiere: what the last Newton direction still promises is subtracted.
      const double left = Line(core, sites, variance, point, last_newton).slope();
      const double memory = std::max(0.0, (newton_slope - left) / last_slope);
      direction = along(newton, memory, direction);
      slope = Line(core, sites, variance, point, direction).slope();
      if (!(slope > 0.1 * newton_slope)) {
        direction = newton;
        slope = newton_slope;
      }
    }
    if (!std::isfinite(slope)) {
      // e^eta near its end: far enough down its flank, and the slope is a number again.
      const double far = newton.eta.cwiseQuotient(variance.cwiseSqrt()).lpNorm<Eigen::Infinity>();
      direction = {newton.coordinates * (first_descent / far), newton.eta * (first_descent / far)};
      slope = Line(core, sites, variance, point, direction).slope();
      if (!std::isfinite(slope)) return;
    }
    last_slope = newton_slope;
    const double longest = longest_step(point.at.coordinates, direction.coordinates, target.coordinates);
    const Line line(core, sites, variance, point, direction);
    std::optional<SmoothedPoint> next;
    if (drowned)
      next = line.at(1.0).first;
    else
      next = search(line, point.objective, slope, longest);
    if (!next || !std::isfinite(next->objective)) return;
    // On lines eta and its coordinates drift apart by rounding, and a wide prior makes much of a little: only a point
    // where both agree has the objective it claims.
    LatentPoint exact = core.point(next->at.coordinates);
    if ((exact.eta - next->at.eta).lpNorm<Eigen::Infinity>() > drift * (1.0 + exact.eta.lpNorm<Eigen::Infinity>())) {
      *next = smoothed_point(core, sites, variance, std::move(exact));
      if (!drowned && !(next->objective > point.objective)) return;
    }
    before = std::exchange(point, std::move(*next));
    trusted = drowned;
  }
}

}  // namespace gaussmith
