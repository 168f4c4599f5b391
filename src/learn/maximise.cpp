#include "learn/maximise.hpp"

#include "learn/quadratic_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Gradients below this multiple of their own error are zero as far as one can tell.
constexpr double error_multiple = 4.0;
/// The region never grows beyond this in any coordinate: a factor of twenty in a parameter.
constexpr double largest_radius = 3.0;
/// A region this small says that no step helps.
constexpr double smallest_radius = 1e-7;
/// A step this short is within the reach of a Hessian by differences.
constexpr double near = 0.006;
/// A Hessian counts as that of a point this near.
constexpr double same_place = 0.006;
/// Closer to a bound than this counts as at it.
constexpr double bound_margin = 1e-6;
/// Steps that a Hessian from elsewhere is trusted for.
constexpr int known_steps = 3;

double norm_of(const Vector& v) { return v.size() == 0 ? 0.0 : v.lpNorm<Eigen::Infinity>(); }

/// Where along a step, of length one, the cubic through both ends with their slopes is highest.
double highest_of_cubic(double rise, double slope_before, double slope_after) {
  // c(t) = slope_before t + b t^2 + c t^3 with c(1) = rise, c'(1) = slope_after.
  const double b = 3.0 * rise - 2.0 * slope_before - slope_after;
  const double c = slope_before + slope_after - 2.0 * rise;
  const double root = b * b - 3.0 * c * slope_before;
  if (!(root >= 0.0)) return 0.5;
  const double t = -slope_before / (b - std::sqrt(root));
  return std::isfinite(t) ? t : 0.5;
}

class Search {
 public:
  Search(const PartialFunction& f, const std::function<bool()>& stop, const Vector& lower, const Vector& upper,
         const SearchOptions& options)
      : f_(f),
        stop_(stop),
        lower_(lower),
        upper_(upper),
        options_(options),
        model_(lower.size()),
        radius_(options.radius),
        out_{-std::numeric_limits<double>::infinity(), Status::numerical_failure, "every evaluation failed"} {}

  Maximum run(const Vector& start, std::optional<Evaluation> first) {
    point_ = start;
    if (!first) first = evaluate(start);
    if (first) {
      here_ = std::move(*first);
      model_.reset(std::max(norm_of(projected(point_, here_.gradient)), 1e-3) / options_.radius);
      if (options_.curvature != nullptr) {
        const Curvature& known = *options_.curvature;
        model_.set(known.hessian, known.coordinates, std::max(1e-3, known.hessian.diagonal().cwiseAbs().mean()));
      }
      climb();
      out_.value = here_.value;
      out_.point = point_;
      out_.gradient = here_.gradient;
      if (out_.curvature && norm_of(point_ - curvature_at_) > same_place) out_.curvature.reset();
    } else if (stop_()) {
      out_.status = Status::stopped;
    }
    return std::move(out_);
  }

 private:
  std::optional<Evaluation> evaluate(const Vector& at) {
    if (left() <= 0 || (out_.evaluations > 0 && stop_())) return std::nullopt;
    ++out_.evaluations;
    return f_(at);
  }

  [[nodiscard]] int left() const { return options_.max_evaluations - out_.evaluations; }

  [[nodiscard]] Vector projected(const Vector& at, const Vector& gradient) const {
    Vector out = gradient;
    for (Index i = 0; i < at.size(); ++i) {
      const bool blocked = (at(i) <= lower_(i) + bound_margin && gradient(i) < 0.0) ||
                           (at(i) >= upper_(i) - bound_margin && gradient(i) > 0.0);
      if (blocked) out(i) = 0.0;
    }
    return out;
  }

  [[nodiscard]] double residual() const { return norm_of(projected(point_, here_.gradient)); }

  void end(Status status, std::string message) {
    out_.status = status;
    out_.message = std::move(message);
  }

  void climb() {
    // A model that knows the ridges of the function saves more steps than it costs.
    const bool unknown = options_.curvature == nullptr && point_.size() <= options_.few;
    if (unknown && residual() > gradient_goal(options_.tolerance, here_)) (void)take_hessian();
    while (true) {
      const double slope = residual();
      if (slope <= gradient_goal(options_.tolerance, here_))
        return end(Status::converged, fmt::format("largest projected gradient {:.1e}", slope));
      if (stop_()) return end(Status::stopped, "stopped by the caller");
      if (left() <= 0)
        return end(Status::iteration_limit, fmt::format("{} evaluations used, largest projected gradient {:.1e}",
                                                        options_.max_evaluations, slope));
      if (radius_ < smallest_radius) {
        if (take_hessian()) continue;
        return end(Status::stalled,
                   fmt::format("no further increase in double precision, largest projected gradient {:.1e}", slope));
      }
      const Vector below = (lower_ - point_).cwiseMax(-radius_).cwiseMin(0.0);
      const Vector above = (upper_ - point_).cwiseMin(radius_).cwiseMax(0.0);
      const Vector step = model_.best_step(here_.gradient, below, above);
      const double expected = model_.gain(here_.gradient, step);
      if (expected <= options_.enough && norm_of(step) < radius_)
        return end(Status::converged, fmt::format("no more than {:.1e} left to gain", options_.enough));
      // The gain of a Newton step is half the square of its length in standard errors.
      if (out_.curvature && 2.0 * expected <= options_.near_enough * options_.near_enough &&
          norm_of(point_ - curvature_at_) <= same_place)
        return end(Status::converged, fmt::format("within {:.1g} standard errors of the maximum, largest projected "
                                                  "gradient {:.1e}",
                                                  options_.near_enough, slope));
      if (norm_of(step) <= near && take_hessian()) continue;
      // A Hessian that was only about right has led as near as it could.
      if (options_.curvature != nullptr && attempts_ == known_steps && !second_order_ && take_hessian()) continue;
      // Gradients see further than values: that values cannot tell is no end while gradients still fall.
      if (hidden_ && expected <= here_.value_error)
        return end(Status::converged,
                   fmt::format("what is left to gain, {:.1e}, is within the evidence's own error; largest projected "
                               "gradient {:.1e}",
                               std::max(expected, 0.0), slope));
      attempt(step, expected);
    }
  }

  /// Replaces the model by the Hessian here, unless that is where it is from or it costs too much.
  bool take_hessian() {
    const Index free = (projected(point_, here_.gradient).array() != 0.0).count();
    if (free > options_.most_differences || (second_order_ && norm_of(point_ - curvature_at_) <= near)) return false;
    const int before = out_.evaluations;
    auto found =
        curvature_inside([&](const Vector& at) { return evaluate(at); }, point_, here_, lower_, upper_,
                         std::max(1.0, model_.times(Vector::Ones(point_.size())).cwiseAbs().maxCoeff()), left() - 1);
    out_.curvature_evaluations += out_.evaluations - before;
    second_order_ = true;
    curvature_at_ = point_;
    if (!found || found->coordinates.empty()) return false;
    const double scale = std::max(1e-3, found->hessian.diagonal().cwiseAbs().mean());
    model_.set(found->hessian, found->coordinates, scale);
    out_.curvature = std::move(found);
    radius_ = std::max(radius_, 0.25);
    return true;
  }

  void attempt(const Vector& step, double expected) {
    const Vector next = (point_ + step).cwiseMax(lower_).cwiseMin(upper_);
    const Vector moved = next - point_;
    const double length = norm_of(moved);
    if (length == 0.0) {
      radius_ = 0.0;
      return;
    }
    ++attempts_;
    auto there = evaluate(next);
    if (!there) {
      radius_ = 0.25 * std::min(radius_, length);
      return;
    }
    const double rise = there->value - here_.value;
    const double noise = here_.value_error + there->value_error;
    const double before = here_.gradient.dot(moved);
    const double after = there->gradient.dot(moved);
    const Vector change = there->gradient - here_.gradient;
    // Differences within the gradients' errors would teach noise.
    if (norm_of(change) > error_multiple * (here_.gradient_error + there->gradient_error)) model_.update(moved, change);
    const double ratio = (rise + noise) / (expected + noise);
    const bool small = expected < 10.0 * noise;
    const bool flatter = norm_of(projected(next, there->gradient)) < residual() && rise > -10.0 * noise;
    const bool accepted = small ? flatter || rise > noise : ratio > 1e-4 && rise > 0.0;
    if (ratio < 0.25 || !accepted) {
      radius_ = std::clamp(highest_of_cubic(rise, before, after), 0.1, 0.5) * length;
    } else if (ratio > 0.75 && length > 0.9 * radius_) {
      radius_ = std::min(largest_radius, 2.0 * radius_);
    }
    hidden_ = small && !accepted;
    if (!accepted) return;
    point_ = next;
    here_ = std::move(*there);
  }

  const PartialFunction& f_;
  const std::function<bool()>& stop_;
  const Vector& lower_;
  const Vector& upper_;
  const SearchOptions& options_;
  QuadraticModel model_;
  double radius_;
  Vector point_, curvature_at_;
  Evaluation here_{};
  int attempts_ = 0;
  bool second_order_ = false;
  bool hidden_ =
      false;  ///< The last step was expected to gain less than values can show, and made the gradient no smaller.
  Maximum out_;
};

}  // namespace

double gradient_goal(double tolerance, const Evaluation& evaluation) {
  return std::max(tolerance, error_multiple * evaluation.gradient_error);
}

std::optional<Curvature> curvature_inside(const PartialFunction& f, const Vector& point, const Evaluation& there,
                                          const Vector& lower, const Vector& upper, double scale, int budget) {
  std::vector<Index> free;
  for (Index i = 0; i < point.size(); ++i)
    if (point(i) > lower(i) + bound_margin && point(i) < upper(i) - bound_margin) free.push_back(i);
  // One-sided differences are off by about step f'''/2 + 2 error/step: f''' of log parameters is about f''.
  const double error = std::max(there.gradient_error, 1e-9);
  const double step = std::max(1e-3, 2.0 * std::sqrt(error / scale));
  const bool central = step > 4e-3;
  const auto cost = static_cast<int>(free.size()) * (central ? 2 : 1);
  if (cost > budget) return std::nullopt;
  return curvature(f, point, there.gradient, free, lower, upper, {central ? std::max(step, 0.02) : step, central});
}

Maximum maximise(const PartialFunction& f, const std::function<bool()>& stop, const Vector& start, const Vector& lower,
                 const Vector& upper, const SearchOptions& options, std::optional<Evaluation> at_start) {
  return Search(f, stop, lower, upper, options).run(start, std::move(at_start));
}

}  // namespace gaussmith
