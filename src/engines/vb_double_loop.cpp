#include "engines/vb_double_loop.hpp"

#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// What estimated variances are worth: tangents and means are not found to less, in posterior standard deviations.
constexpr double coarsest_goal = 0.01;
/// Where they are better than usual, to this share of their error.
constexpr double goal_share = 0.05;
/// The mean is found to this share of that.
constexpr double mean_share = 0.1;
constexpr int most_mean_steps = 50;
/// Steps that leave more of the residual than this are halved, down to the shortest.
constexpr double slow = 0.9;
constexpr double shortest_step = 0.1;
/// Steps that acceleration remembers, and how far in log v it may go beyond both ends of a plain step.
constexpr int memory = 5;
constexpr double largest_overshoot = 2.0;
/// Variances are rough until the residual is down to this many goals.
constexpr double draft_share = 5.0;
/// Those from fewer draws lead to another place, some standard deviations away: nearer is not worth while.
constexpr double draft_distance = 2.0;
/// Meanwhile the mean is found to this share of the last residual, and to a standard deviation.
constexpr double draft_mean_share = 0.01;
constexpr double draft_mean_goal = 1.0;
constexpr double rounding_gain = 1e-12;

class DoubleLoop {
 public:
  DoubleLoop(const ClimbOptions& options, const Run& run, GaussianCore& core, const SiteRows& sites)
      : options_(options),
        core_(core),
        sites_(sites),
        progress_(run.progress, &done_.report.history),
        goal_(std::max(options.tolerance, coarsest_goal)),
        anderson_(memory) {}

  KlClimb climb(const Posterior* warm) {
    core_.set_draft(true);
    start(warm);
    do {
      fit_mean();
      follow_with_tangents();
    } while (proceed());
    KlPoint& end = done_.end;
    core_.set_draft(false);
    core_.restore(end.sites());
    end.variance = core_.variances();
    end.bound += core_.largest_half_log_det() - core_.half_log_det().value;
    return std::move(done_);
  }

 private:
  void start(const Posterior* warm) {
    if (const OptionalKlStart known = warm_kl_start(core_, warm)) {
      variance_ = core_.variances();
      now_ = smoothed_point(core_, sites_, variance_, known->mean);
      return;
    }
    const KlStart first = independent_start(core_, sites_, core_.centre());
    if (!core_.set({first.precision, Vector::Zero(core_.rows())}))
      throw InvalidModel(fmt::format("{}: {}", options_.method, why_not_factorised(core_)));
    // Each row under its own site alone.
    const Vector prior = core_.prior_variances().cwiseMin(widest_variance);
    variance_ = (prior.cwiseInverse() + first.precision).cwiseInverse();
    now_ = smoothed_point(core_, sites_, variance_, first.mean);
  }

  void fit_mean() {
    const LatentPoint before = now_.at;
    double goal = mean_share * goal_;
    if (draft_) goal = std::max(goal, std::min(draft_mean_goal, draft_mean_share * last_residual_));
    climb_mean(core_, sites_, -2.0 * now_.d_variance, variance_, {goal, most_mean_steps, rounding_gain, true}, now_);
    const LatentPoint step{now_.at.coordinates - before.coordinates, now_.at.eta - before.eta + core_.prior_mean()};
    const Vector eta_step = now_.at.eta - before.eta;
    moved_ = std::sqrt(core_.inner(step, step) - 2.0 * now_.d_variance.dot(eta_step.cwiseAbs2()));
  }

  /// The tangents at the mean, the bound with them (or what it is at least), and the variances that they give.
  void follow_with_tangents() {
    KlPoint& end = done_.end;
    end.precision = -2.0 * now_.d_variance;
    end.mean = now_;
    core_.restore({end.precision, Vector::Zero(core_.rows())});
    end.bound = now_.objective - core_.largest_half_log_det() + 0.5 * end.precision.dot(variance_);
    end.variance = core_.variances();
    now_ = smoothed_point(core_, sites_, end.variance, std::move(now_.at));
    const double mismatch = (end.precision + 2.0 * now_.d_variance).cwiseAbs().cwiseProduct(end.variance).maxCoeff();
    const double last = std::exchange(last_residual_, std::max({moved_, end.mean.residual, mismatch}));
    end.residual = last_residual_;
    // Noise of the estimates may lead round in circles, which shorter steps end.
    if (end.residual > slow * last) {
      step_ = std::max(shortest_step, 0.5 * step_);
      anderson_.clear();
    }
    accelerate();
  }

  /// From the variances that the mean was found for towards those that came of it, with what the last steps tell of the
  /// way that is left. In logarithms; a row without entries has no variance.
  void accelerate() {
    const Vector& came = done_.end.variance;
    const Vector least = Vector::Constant(came.size(), std::numeric_limits<double>::min());
    const Vector from = variance_.cwiseMax(least).array().log();
    const Vector step = step_ * (Vector(came.cwiseMax(least).array().log()) - from);
    const Vector weights = done_.end.precision.cwiseProduct(came);
    const Vector proposed = anderson_.propose(from, step, weights, 1.0);
    anderson_.remember(from, step);
    const Vector lowest = from.cwiseMin(from + step).array() - largest_overshoot;
    const Vector highest = from.cwiseMax(from + step).array() + largest_overshoot;
    variance_ = proposed.cwiseMax(lowest).cwiseMin(highest).array().exp();
    variance_ = (came.array() > 0.0).select(variance_, 0.0);
    now_ = smoothed_point(core_, sites_, variance_, std::move(now_.at));
  }

  bool proceed() {
    Report& report = done_.report;
    ++report.iterations;
    report.residual = done_.end.residual;
    if (report.residual <= goal_ && !draft_)
      goal_ = std::clamp(goal_share * core_.variance_errors().rows, options_.tolerance, goal_);
    report.tolerance = goal_;
    const double near = core_.drafts_differ() ? draft_distance : draft_share * goal_;
    const bool draft = std::exchange(draft_, draft_ && report.residual > near);
    core_.set_draft(draft_);
    if (draft && !draft_ && core_.drafts_differ()) {
      // What is known of the way is that of another map.
      anderson_.clear();
      step_ = 1.0;
      last_residual_ = std::numeric_limits<double>::infinity();
    }
    const Next next = progress_.tell({report.iterations, done_.end.bound, report.residual, "variances"});
    if (report.residual <= goal_ && !draft) {
      report.local_optimum = !sites_.all(&SiteTraits::log_concave);
      if (report.local_optimum && options_.starts > 1)
        report.notes.emplace_back("estimated variances: one start, although the bound may have several optima");
      return finish(Status::converged, "the bound's optimum as far as estimated variances tell it");
    }
    if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before the bound's optimum");
    if (report.iterations >= options_.max_iterations)
      return finish(Status::iteration_limit, fmt::format("no optimum within {} estimates of variances; raise "
                                                         "{}.max_iterations",
                                                         options_.max_iterations, options_.method));
    return true;
  }

  bool finish(Status status, std::string message) {
    done_.report.status = status;
    done_.report.message = std::move(message);
    return false;
  }

  const ClimbOptions& options_;
  GaussianCore& core_;
  const SiteRows& sites_;
  KlClimb done_;
  Progress progress_;
  Vector variance_;     // What the mean is found for.
  SmoothedPoint now_;   // The mean, and its sites with these variances.
  double moved_ = 0.0;  // By the last fit of the mean, in standard deviations.
  double goal_;
  double last_residual_ = std::numeric_limits<double>::infinity();
  AndersonMixing anderson_;
  double step_ = 1.0;  // From the last variances to the new ones, in logarithms.
  bool draft_ = true;  // Whether the next variances may be rough.
};

}  // namespace

KlClimb climb_double_loop(const ClimbOptions& options, const Run& run, GaussianCore& core, const SiteRows& sites) {
  return DoubleLoop(options, run, core, sites).climb(run.warm_start);
}

}  // namespace gaussmith
