#include "engines/mode_search.hpp"

#include "gaussian/positive_weights.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

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

/// A step in eta, relative to eta, that a converged search may still promise when there is no Gaussian factor.
constexpr double largest_last_step = 1e-4;

/// Where positive weights cannot be factorised the weak ones are raised to this share of the strongest, then to ever
/// larger ones; at one the matrix is H'H, which is singular only where rows leave weights open.
constexpr double smallest_raise = 1e-10;
constexpr double raise_factor = 100.0;

}  // namespace

void ModeSearch::start_from(const Posterior* warm) {
  now_ = evaluate(core_.centre());
  if (warm != nullptr && warm->site_approximation().rows() == sites_.rows() && core_.set(warm->site_approximation())) {
    const ModeAscent warmer = evaluate(core_.mean());
    // The negation also replaces a centre at which the sites vanish.
    if (!(warmer.objective < now_.objective) && std::isfinite(warmer.objective)) now_ = warmer;
  }
  if (!std::isfinite(now_.objective))
    throw InvalidModel(
        fmt::format("{}: the sites vanish at the prior mean, so there is nowhere to start from", goal_.method));
}

void ModeSearch::climb() {
  for (report_.iterations = 1; report_.iterations <= goal_.max_iterations; ++report_.iterations) {
    refresh_sites();
    const bool newton = core_.set(curvature_);
    if (!newton && !core_.set(weights()) && !set_raised_weights()) return fail();
    usable_ = core_.sites();
    ++(newton ? newton_steps_ : weighted_steps_);
    const LatentPoint target = core_.mean();
    const double slope = core_.slope(now_.point, target, first_);
    report_.residual = std::sqrt(std::abs(slope));
    const Next next = tell(newton ? "newton" : "positive weights");
    if (report_.residual <= goal_.tolerance && !runs_away(target)) {
      // Where eta may still move the determinant, a last step is worth a factorisation.
      const bool settled = !goal_.curved || determinant_error(report_.residual) <=
                                                largest_evidence_error * (1.0 + std::abs(now_.objective));
      if (newton && (settled || report_.iterations == goal_.max_iterations || !advance(target, slope)))
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
  report_.iterations = goal_.max_iterations;
  finish(Status::iteration_limit,
         fmt::format("no mode within {} iterations; raise {}.max_iterations", goal_.max_iterations, goal_.method));
}

void ModeSearch::settle() {
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

double ModeSearch::determinant_error(double distance) {
  const RowMarginals q = core_.marginals(now_.point);
  const Vector slope = sites_.curvature_slope(now_.point.eta, q.covariances());
  const double error = 0.5 * distance * (slope.array().abs() * q.variance.array().sqrt()).sum();
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

ModeAscent ModeSearch::evaluate(LatentPoint point) const {
  const double objective = sites_.total(point.eta) - 0.5 * core_.inner(point, point);
  return {std::move(point), objective};
}

bool ModeSearch::runs_away(const LatentPoint& target) const {
  if (core_.geometry().has_gaussian()) return false;
  const Vector& eta = now_.point.eta;
  return (target.eta - eta).lpNorm<Eigen::Infinity>() > largest_last_step * (1.0 + eta.lpNorm<Eigen::Infinity>());
}

void ModeSearch::refresh_sites() {
  sites_.log_density(now_.point.eta, nullptr, &first_, &second_);
  curvature_.precision = -second_;
  curvature_.width = sites_.width();
  curvature_.star = sites_.star(now_.point.eta);
  curvature_.shift = first_ + precision_times(curvature_, now_.point.eta);
}

SiteApproximation ModeSearch::weights() const { return positive_weights(sites_, now_.point.eta, first_, second_); }

bool ModeSearch::set_raised_weights() {
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

Next ModeSearch::tell(std::string_view kind) {
  return progress_.tell({report_.iterations, now_.objective, report_.residual, kind});
}

bool ModeSearch::advance(const LatentPoint& target, double slope) {
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

void ModeSearch::escape() {
  ++escapes_;
  Vector shift = core_.sites().shift;
  const Vector strength = diagonals(core_.sites().precision, core_.width());
  for (Index n = 0; n < shift.size(); ++n)
    shift(n) += escape_size * escapes_ * std::sqrt(strength(n)) * random_.normal();
  now_ = evaluate(core_.mean(shift));
}

std::string ModeSearch::how() const {
  std::string text = fmt::format("mode with positive definite curvature after {} Newton step{}", newton_steps_,
                                 newton_steps_ == 1 ? "" : "s");
  if (weighted_steps_ > 0) text += fmt::format(", {} with positive weights", weighted_steps_);
  if (shortened_steps_ > 0) text += fmt::format(", {} shortened", shortened_steps_);
  if (escapes_ > 0) text += fmt::format(", {} escaped from a stationary point that is no mode", escapes_);
  return text;
}

void ModeSearch::finish(Status status, std::string message) {
  report_.status = status;
  report_.message = std::move(message);
}

void ModeSearch::fail() {
  if (report_.iterations == 1) throw InvalidModel(fmt::format("{}: {}", goal_.method, why_not_factorised(core_)));
  finish(Status::numerical_failure, "the curvature became singular: the posterior may have no mode");
}

}  // namespace gaussmith
