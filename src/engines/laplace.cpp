#include "engines/laplace.hpp"

#include "base/progress.hpp"
#include "engines/curvature_gradient.hpp"
#include "engines/engine_core.hpp"
#include "engines/positive_weights.hpp"
#include "engines/variance_choice.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// A step must gain this share of what its slope promises.
constexpr double sufficient_increase = 1e-4;
constexpr int max_halvings = 60;
/// Below this share of the objective a predicted gain drowns in rounding, and full steps are taken on trust.
constexpr double rounding_gain = 1e-12;
/// Trusted steps that do not shrink the residual before the engine says it is stalled.
constexpr int max_idle_steps = 5;
/// Kicks away from points that are stationary but no mode.
constexpr int max_escapes = 10;
constexpr double escape_size = 0.1;

/// What a mode that is not quite reached may change the evidence by, relative to the objective.
constexpr double largest_evidence_error = 1e-8;

/// What it may change variances by, relative; the same sum bounds both.
constexpr double largest_variance_error = 5e-4;

/// A step in eta, relative to eta, that a converged search may still promise when there is no Gaussian factor.
constexpr double largest_last_step = 1e-4;

/// Where positive weights cannot be factorised the weak ones are raised to this share of the strongest, then to ever
/// larger ones; at one the matrix is H'H, which is singular only where rows leave weights open.
constexpr double smallest_raise = 1e-10;
constexpr double raise_factor = 100.0;

/// The log joint along with the point it belongs to: sum log t - 1/2 |u|^2.
struct ModeAscent {
  LatentPoint point;
  double objective;
};

class ModeSearch {
 public:
  ModeSearch(GaussianCore& core, const SiteRows& sites, const Laplace& options, const Run& run, Report& report)
      : core_(core),
        sites_(sites),
        options_(options),
        report_(report),
        progress_(run.progress, &report.history),
        random_(run.seed) {}

  void start_from(const Posterior* warm) {
    now_ = evaluate(core_.centre());
    if (warm != nullptr && warm->site_approximation().rows() == sites_.rows() &&
        core_.set(warm->site_approximation())) {
      const ModeAscent warmer = evaluate(core_.mean());
      // The negation also replaces a centre at which the sites vanish.
      if (!(warmer.objective < now_.objective) && std::isfinite(warmer.objective)) now_ = warmer;
    }
    if (!std::isfinite(now_.objective))
      throw InvalidModel("laplace: the sites vanish at the prior mean, so there is nowhere to start from");
  }

  /// Climbs to a mode.
  void climb() {
    for (report_.iterations = 1; report_.iterations <= options_.max_iterations; ++report_.iterations) {
      refresh_sites();
      const bool newton = core_.set(curvature_);
      if (!newton && !core_.set(weights()) && !set_raised_weights()) return fail();
      usable_ = core_.sites();
      ++(newton ? newton_steps_ : weighted_steps_);
      const LatentPoint target = core_.mean();
      const double slope = core_.slope(now_.point, target, first_);
      report_.residual = std::sqrt(std::abs(slope));
      const Next next = tell(newton ? "newton" : "positive weights");
      if (report_.residual <= options_.tolerance && !runs_away(target)) {
        // Where eta may still move the determinant, a last step is worth a factorisation.
        const bool settled =
            determinant_error(report_.residual) <= largest_evidence_error * (1.0 + std::abs(now_.objective));
        if (newton && (settled || report_.iterations == options_.max_iterations || !advance(target, slope)))
          return finish(Status::converged, how());
        if (newton) continue;
        if (escapes_ == max_escapes)
          return finish(Status::stalled, "stationary, but K^-1 + T is not positive definite: no mode was found");
        escape();
        continue;
      }
      if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before a mode was reached");
      if (!advance(target, slope)) {
        no_step_helps_ = newton && !runs_away(target);
        return finish(Status::stalled, runs_away(target)
                                           ? "eta grows without end: there is no mode (are the classes separable?)"
                                           : "no step increases the log joint any more in double precision");
      }
    }
    report_.iterations = options_.max_iterations;
    finish(Status::iteration_limit,
           fmt::format("no mode within {} iterations; raise laplace.max_iterations", options_.max_iterations));
  }

  /// Makes the core and the site parameters agree with the last point, whatever way the search ended.
  void settle() {
    if (report_.status == Status::converged) return;
    refresh_sites();
    if (core_.set(curvature_)) return;
    if (core_.set(weights())) {
      report_.warnings.emplace_back(
          "the curvature at the last point is not that of a mode; variances come from positive weights instead");
    } else {
      core_.restore(usable_);
      report_.warnings.emplace_back(
          "the curvature at the last point is singular; variances are those of the step before");
    }
  }

  [[nodiscard]] const ModeAscent& now() const { return now_; }
  /// Whether the search ended at a mode but for what double precision cannot tell.
  [[nodiscard]] bool no_step_helps() const { return no_step_helps_; }

  /// What the distance to the mode leaves uncertain in 1/2 log|I + K T|, which is not stationary there: to first order
  /// 1/2 sum |v d3 log t| |d eta|, and no d eta is larger than the residual, or than rounding, in standard deviations.
  [[nodiscard]] double determinant_error(double distance) {
    Vector third;
    sites_.log_density(now_.point.eta, nullptr, nullptr, nullptr, &third);
    const auto v = core_.variances().array();
    const double error = 0.5 * distance * (third.array().abs() * v * v.sqrt()).sum();
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

 private:
  [[nodiscard]] ModeAscent evaluate(LatentPoint point) const {
    const double objective = sites_.total(point.eta) - 0.5 * core_.inner(point, point);
    return {std::move(point), objective};
  }

  /// Without a Gaussian factor the gradient also vanishes on the way to infinity (separable classes), where steps in
  /// eta stay as large as ever.
  [[nodiscard]] bool runs_away(const LatentPoint& target) const {
    if (core_.geometry().has_gaussian()) return false;
    const Vector& eta = now_.point.eta;
    return (target.eta - eta).lpNorm<Eigen::Infinity>() > largest_last_step * (1.0 + eta.lpNorm<Eigen::Infinity>());
  }

  void refresh_sites() {
    sites_.log_density(now_.point.eta, nullptr, &first_, &second_);
    curvature_.precision = -second_;
    curvature_.shift = first_ + curvature_.precision.cwiseProduct(now_.point.eta);
  }

  [[nodiscard]] SiteApproximation weights() const { return positive_weights(sites_, now_.point.eta, first_, second_); }

  /// One site may hold its row so tightly at the start (a Weibull site 70 nats off has a curvature of 1e33) that beside
  /// it the others are rounding, or all may be flat there. Larger precisions only make a shorter step of the same
  /// gradient: Levenberg's damping, row by row.
  [[nodiscard]] bool set_raised_weights() {
    const SiteApproximation plain = weights();
    const double strongest = plain.precision.maxCoeff();
    if (core_.geometry().has_gaussian() || !std::isfinite(strongest)) return false;
    const bool flat = !(strongest > 0.0);
    // Flat on the way is a posterior without a mode; flat at the start may be a start far from it.
    if (flat && report_.iterations > 1) return false;
    for (double share = smallest_raise; share <= 1.0; share *= raise_factor) {
      SiteApproximation raised = plain;
      raised.precision = plain.precision.cwiseMax(share * (flat ? 1.0 : strongest));
      raised.shift = first_ + raised.precision.cwiseProduct(now_.point.eta);
      if (core_.set(raised)) return true;
    }
    return false;
  }

  Next tell(std::string_view kind) {
    return progress_.tell({report_.iterations, now_.objective, report_.residual, kind});
  }

  /// Backtracks on the line to the target, on which the prior's share of the log joint is a known parabola and only the
  /// sites have to be evaluated.
  bool advance(const LatentPoint& target, double slope) {
    if (slope <= rounding_gain * (1.0 + std::abs(now_.objective))) {
      idle_steps_ = report_.residual < 0.5 * best_residual_ ? 0 : idle_steps_ + 1;
      best_residual_ = std::min(best_residual_, report_.residual);
      if (idle_steps_ >= max_idle_steps) return false;
      ModeAscent next = evaluate(target);
      if (!std::isfinite(next.objective)) return false;
      now_ = std::move(next);
      return true;
    }
    const double oo = core_.inner(now_.point, now_.point);
    const double ot = core_.inner(now_.point, target);
    const double tt = core_.inner(target, target);
    double length = 1.0;
    for (int halving = 0; halving <= max_halvings; ++halving, length *= 0.5) {
      const double rest = 1.0 - length;
      LatentPoint trial{rest * now_.point.coordinates + length * target.coordinates,
                        rest * now_.point.eta + length * target.eta};
      const double penalty = 0.5 * (rest * rest * oo + 2.0 * rest * length * ot + length * length * tt);
      const double objective = sites_.total(trial.eta) - penalty;
      if (objective >= now_.objective + sufficient_increase * length * slope) {
        if (halving > 0) ++shortened_steps_;
        now_ = {std::move(trial), objective};
        return true;
      }
    }
    return false;
  }

  void escape() {
    ++escapes_;
    Vector shift = core_.sites().shift;
    for (Index n = 0; n < shift.size(); ++n)
      shift(n) += escape_size * escapes_ * std::sqrt(core_.sites().precision(n)) * random_.normal();
    now_ = evaluate(core_.mean(shift));
  }

  [[nodiscard]] std::string how() const {
    std::string text = fmt::format("mode with positive definite curvature after {} Newton step{}", newton_steps_,
                                   newton_steps_ == 1 ? "" : "s");
    if (weighted_steps_ > 0) text += fmt::format(", {} with positive weights", weighted_steps_);
    if (shortened_steps_ > 0) text += fmt::format(", {} shortened", shortened_steps_);
    if (escapes_ > 0) text += fmt::format(", {} escaped from a stationary point that is no mode", escapes_);
    return text;
  }

  void finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
  }

  void fail() {
    if (report_.iterations == 1) throw InvalidModel("laplace: " + why_not_factorised(core_));
    finish(Status::numerical_failure, "the curvature became singular: the posterior may have no mode");
  }

  GaussianCore& core_;
  const SiteRows& sites_;
  const Laplace& options_;
  Report& report_;
  Progress progress_;
  Random random_;
  ModeAscent now_;
  Vector first_, second_;
  SiteApproximation curvature_;  // The sites' own curvature at the current point.
  SiteApproximation usable_;     // The last sites that could be factorised.
  double best_residual_ = std::numeric_limits<double>::infinity();
  int idle_steps_ = 0, newton_steps_ = 0, weighted_steps_ = 0, shortened_steps_ = 0, escapes_ = 0;
  bool no_step_helps_ = false;
};

}  // namespace

void check_laplace(const Model& model) {
  for (std::size_t b = 0; b < model.sites.size(); ++b) {
    const SiteTraits& traits = model.sites[b]->traits();
    if (!traits.smooth)
      throw InvalidOption(
          fmt::format("the laplace method needs sites with derivatives, but sites[{}] (likelihood {}) has kinks or "
                      "jumps; use ep or kl",
                      b, traits.name));
  }
}

void run_laplace(const Laplace& options, const Run& run, Posterior::State& state) {
  const std::shared_ptr<GaussianCore> core =
      build_core(run, default_estimate(state.model.design.has_entries()), Estimates::where_needed, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  ModeSearch search(*core, sites, options, run, state.report);
  search.start_from(run.warm_start);
  search.climb();
  search.settle();
  const LatentPoint mode = search.now().point;
  // log Z = sum log t(m) - 1/2 a'K a - 1/2 log|I + K T|.
  const double log_evidence = search.now().objective - core->half_log_det().value;
  end_in_site_form(*core, sites,
                   {mode, log_evidence, {EvidenceKind::approximation, true}, false, search.no_step_helps()}, state);
  const double determinant_error = search.determinant_error(state.report.residual + state.report.mean_error);
  state.log_evidence.numerical_error += determinant_error;
  if (state.report.converged() && determinant_error > largest_variance_error) {
    state.report.status = Status::inaccurate;
    state.report.message = fmt::format(
        "the curvature changes so fast around the mode that variances are known to {:.1g} of themselves only",
        determinant_error);
  }
  state.gradient = [core, mode, &state] { return curvature_gradient(*core, mode, state); };
}

}  // namespace gaussmith
