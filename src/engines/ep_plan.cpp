#include "engines/ep_plan.hpp"

#include "engines/kl_search.hpp"
#include "engines/kl_starts.hpp"
#include "gaussmith/errors.hpp"
#include "sites/custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

namespace gaussmith {

namespace {

constexpr double milder_damping = 0.4;
/// Shares of the power asked for, tried in turn as the last resort, and upwards from the variational Gaussian.
constexpr std::array lower_powers = {0.9, 0.8, 0.65, 0.5, 0.35, 0.2};
/// An evidence this far below a bound, in nats and relative, is no matter of rounding.
constexpr double clearly_below = 1e-3;
constexpr double relatively_below = 1e-6;
/// The variational Gaussian is a start only.
constexpr double start_tolerance = 1e-4;
constexpr int start_iterations = 200;
/// One ascent of kl from its first start is a check that costs little up to this many rows.
constexpr Index few_rows = 300;

bool settled(StageEnd end) { return end == StageEnd::converged || end == StageEnd::rounding; }
bool out_of_time(StageEnd end) { return end == StageEnd::limit || end == StageEnd::stopped; }

/// Functions of users may vanish, and then have no E[log t].
bool all_catalogued(const SiteRows& sites) {
  std::atomic<bool> all = true;
  sites.for_pieces([&](const SiteBlock& block, Index, Index, Index) {
    if (is_custom(block)) all = false;
  });
  return all;
}

}  // namespace

bool KnownBound::contradicts(double log_evidence) const {
  return log_evidence < value - clearly_below - relatively_below * std::abs(value);
}

EpPlan::EpPlan(EpSearch& search, const EpProblem& problem, const Ep& options, Report& report)
    : search_(search),
      problem_(problem),
      options_(options),
      report_(report),
      log_concave_(problem.sites.all(&SiteTraits::log_concave)),
      has_expectations_(all_catalogued(problem.sites)) {}

StageEnd EpPlan::run() {
  StageEnd end = StageEnd::limit;
  switch (options_.mode) {
    case EpMode::parallel:
      end = search_.parallel(options_.damping);
      break;
    case EpMode::sequential:
      end = search_.sequential(options_.damping);
      break;
    case EpMode::double_loop:
      end = double_loop(options_.max_iterations);
      break;
    case EpMode::automatic:
      return automatic();
  }
  keep(end);
  warn(best());
  return end;
}

StageEnd EpPlan::automatic() {
  const double asked = options_.power;
  StageEnd end = cheap_stages();
  keep(end);
  if (satisfied_at(asked) && !log_concave_ && problem_.run.warm_start == nullptr && problem_.sites.rows() <= few_rows)
    (void)variational_sites(1);
  if (stopped_ || satisfied_at(asked) || out_of_time(end)) {
    warn(best());
    return end;
  }
  EpSearch::StatePointer unfinished = search_.best();
  const bool may_lower = problem_.run.substitutes && options_.min_power < asked;
  if (settled(end))
    note_contradiction("powers rising from kl's optimum");
  else
    note("sequential", "powers rising from kl's optimum", end);
  stopped_ = rise();
  if (!settled(end) && !stopped_ && !satisfied_at(asked)) {
    search_.restore(unfinished, asked);
    note(fmt::format("power {:.2g}", found_.empty() ? asked : found_.back().power), "double loop", end);
    const int left = options_.max_iterations - report_.iterations;
    end = double_loop(may_lower ? left / 5 : left);
    keep(end);
    unfinished = search_.best();
  }
  for (const double share : lower_powers) {
    const double power = share * asked;
    const bool enough = std::any_of(found_.begin(), found_.end(),
                                    [&](const Found& found) { return found.power >= power && is_sound(found); });
    if (enough || !may_lower || power < options_.min_power || stopped_ || out_of_time(end)) break;
    const auto next = fmt::format("power {:.2g}", power);
    if (settled(end))
      note_contradiction(next);
    else
      note(fmt::format("power {:.2g}", search_.power()), next, end);
    search_.set_power(power);
    end = cheap_stages();
    if (!settled(end) && !out_of_time(end)) {
      note("sequential", "double loop", end);
      const int left = options_.max_iterations - report_.iterations;
      end = double_loop(share == lower_powers.back() ? left : left / 5);
    }
    keep(end);
  }
  const Found* kept = best();
  // At a lowered power what came from above is one start of several.
  if (kept != nullptr && kept->power < asked && !stopped_ && !out_of_time(end)) {
    search_.start_afresh(kept->power);
    keep(quick_stages());
    kept = best();
  }
  if (kept == nullptr) {
    search_.restore(unfinished, asked);
    return stopped_ ? StageEnd::stopped : end;
  }
  search_.restore(kept->state, kept->power);
  warn(kept);
  return kept->end;
}

StageEnd EpPlan::cheap_stages() {
  StageEnd end = search_.parallel(options_.damping);
  if (settled(end) || out_of_time(end)) return end;
  note("parallel", "damped", end);
  search_.return_to_best();
  end = search_.parallel(milder_damping * options_.damping);
  if (settled(end) || out_of_time(end)) return end;
  note("damped", "sequential", end);
  search_.return_to_best();
  return search_.sequential(options_.damping);
}

StageEnd EpPlan::quick_stages() {
  const StageEnd end = search_.parallel(options_.damping);
  if (settled(end) || out_of_time(end)) return end;
  search_.return_to_best();
  return search_.parallel(milder_damping * options_.damping);
}

StageEnd EpPlan::double_loop(int most_sweeps) {
  const int last_sweep = report_.iterations + most_sweeps;
  search_.start_at_power(0.5 * search_.power(), milder_damping * options_.damping);
  for (const double until : {1e-1, 1e-2, 1e-3, 0.0}) {
    StageEnd end = search_.double_loop(until, last_sweep);
    if (end != StageEnd::close) return end;
    end = search_.parallel(milder_damping * options_.damping);
    if (settled(end) || out_of_time(end)) return end;
    search_.return_to_best();
  }
  return StageEnd::not_falling;
}

bool EpPlan::rise() {
  const std::optional<SiteApproximation> variational = variational_sites(Kl{}.starts);
  if (stopped_) return true;
  if (variational && rise_from(variational)) return true;
  return !satisfied_at(options_.power) && rise_from({});
}

bool EpPlan::rise_from(const std::optional<SiteApproximation>& start) {
  std::vector<double> powers(lower_powers.rbegin(), lower_powers.rend());
  powers.push_back(1.0);
  const std::size_t before = found_.size();
  std::optional<SiteApproximation> at = start;
  for (const double share : powers) {
    const double power = share * options_.power;
    if (!at || !search_.start_at(*at, power)) search_.start_afresh(power);
    const StageEnd end = quick_stages();
    if (end == StageEnd::stopped) return true;
    if (!settled(end)) break;
    at = search_.best()->sites;
    keep(end);
  }
  report_.notes.push_back(fmt::format(
      "sweep {}: rising from {}, {}", report_.iterations, start ? "kl's optimum" : "no sites",
      found_.size() > before
          ? fmt::format("to power {:.2g} with evidence {:.6g}", found_.back().power, found_.back().state->log_evidence)
          : "without a fixed point"));
  return false;
}

std::optional<SiteApproximation> EpPlan::variational_sites(int starts) {
  if (!has_expectations_) return {};
  Run run = problem_.run;
  run.warm_start = nullptr;
  const Kl options{.max_iterations = start_iterations, .tolerance = start_tolerance, .starts = starts};
  try {
    const KlClimb found = best_kl_climb(options, run, problem_.model, problem_.core, problem_.sites, problem_.threads);
    stopped_ = found.report.status == Status::stopped;
    const double certain = certain_bound(problem_.core, found.end.mean.at, found.end.bound);
    if (!std::isfinite(certain)) return {};
    bound_.raise(certain, "the lower bound that kl gives");
    return found.end.sites();
  } catch (const InvalidModel&) {
    return {};  // A start that could not be factorised.
  }
}

void EpPlan::keep(StageEnd end) {
  if (!settled(end)) return;
  const EpSearch::StatePointer& state = search_.best();
  found_.push_back({state, search_.power(), end});
  // For log-concave sites at the power asked for the check has never found anything, and costs a pass over the sites.
  const bool doubtful = search_.power() < options_.power || !log_concave_;
  if (has_expectations_ && doubtful)
    bound_.raise(search_.lower_bound(*state), "the lower bound that its own Gaussian gives");
}

bool EpPlan::satisfied_at(double power) const {
  return std::any_of(found_.begin(), found_.end(),
                     [&](const Found& found) { return found.power == power && is_sound(found); });
}

const EpPlan::Found* EpPlan::best() const {
  const Found* best = nullptr;
  const auto better = [&](const Found& a, const Found& b) {
    if (is_sound(a) != is_sound(b)) return is_sound(a);
    if (a.power != b.power) return a.power > b.power;
    return a.state->log_evidence > b.state->log_evidence;
  };
  for (const Found& found : found_) {
    if (found.power < std::min(options_.min_power, options_.power)) continue;
    if (found.power < options_.power && !problem_.run.substitutes) continue;
    if (best == nullptr || better(found, *best)) best = &found;
  }
  return best;
}

void EpPlan::note(std::string_view from, std::string_view to, StageEnd end) {
  report_.notes.push_back(fmt::format("sweep {}: {} -> {}, because {} (mismatch {:.1e})", report_.iterations, from, to,
                                      reason(end), search_.best()->mismatch));
}

void EpPlan::note_contradiction(std::string_view to) {
  report_.notes.push_back(fmt::format("sweep {}: power {:.2g} -> {}, because the evidence {:.6g} lies below {:.6g}, {}",
                                      report_.iterations, search_.power(), to, search_.best()->log_evidence,
                                      bound_.value, bound_.source));
}

void EpPlan::warn(const Found* kept) {
  if (kept == nullptr) return;
  if (kept->power < options_.power)
    report_.warnings.push_back(fmt::format(
        "the power was lowered from {:g} to {:.2g}: the posterior is that of power EP", options_.power, kept->power));
  if (!is_sound(*kept))
    report_.warnings.push_back(fmt::format(
        "the log evidence {:.6g} lies below {:.6g}, {}: the fixed point is a bad one, or a bad approximation",
        kept->state->log_evidence, bound_.value, bound_.source));
}

}  // namespace gaussmith
