#include "learn/best_of_starts.hpp"

#include "kernels/starting_period.hpp"
#include "learn/candidate_starts.hpp"
#include "learn/other_maxima.hpp"
#include "learn/race.hpp"
#include "learn/row_subset.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>
#include <string>

namespace gaussmith {

namespace {

/// Starts are compared over at most this many rows, with this many periods, where at least this many evaluations are
/// allowed.
constexpr Index race_rows = 300;
constexpr std::size_t race_periods = 3;
constexpr int race_evaluations = 60;
/// Evaluations for that, as a multiple of those for one start.
constexpr int race_share = 2;
/// What a search from one of several starts may leave to gain before they are compared.
constexpr double final_gain = 0.05;
/// Their first steps: they begin near a maximum.
constexpr double final_radius = 0.3;

/// Another maximum is told of where it is no more than this below, and so far away in a length-scale or period.
constexpr double rival_gain = 1.0;
constexpr double rival_distance = 0.5;

/// The first of the other ends of searches that is nearly as good and yet elsewhere is named in a warning.
void warn_of_rivals(const Maximum& maximum, const std::vector<Evaluated>& ends, const std::vector<FreeParameter>& free,
                    LearnReport& report) {
  if (maximum.status != Status::converged) return;
  for (const Evaluated& end : ends) {
    const double behind = maximum.value - end.evaluation.value;
    if (!(behind > final_gain && behind < rival_gain)) continue;
    // What is nowhere determined may be anywhere: scales and periods tell maxima apart.
    std::vector<std::string> apart;
    for (std::size_t p = 0; p < free.size(); ++p) {
      const bool telling = free[p].name.find("lengthscale") != std::string::npos || free[p].name.ends_with(".period");
      const double place = end.point(static_cast<Index>(p));
      if (telling && std::abs(place - maximum.point(static_cast<Index>(p))) > rival_distance)
        apart.push_back(fmt::format("{} = {:.3g}", free[p].name, value_on(free[p].scale, place)));
    }
    if (apart.empty()) continue;
    report.warnings.push_back(fmt::format(
        "another maximum of the evidence, only about {:.2g} lower, has {}: the data hardly tell them apart; "
        "restarts look for more, and hyperpriors decide",
        behind, fmt::join(apart, ", ")));
    return;
  }
}

}  // namespace

std::vector<Evaluated> race_of_starts(Climber& climber, const Vector& first, LearnReport& report) {
  const LearnTask& task = climber.task();
  const Model& model = task.model;
  if (!has_components(task.free) || task.options.max_evaluations < race_evaluations) return {};
  const GaussianProcess* process = process_of(model.prior);
  std::vector<double> periods;
  if (process != nullptr && model.sites.size() == 1)
    periods = strongest_periods(*process->inputs, model.sites.front()->responses(), race_periods);
  const std::vector<Vector> starts = candidate_starts(task.free, first, periods);
  const RaceOptions options{.max_evaluations = race_share * task.options.max_evaluations,
                            .narrow = places_of_periods(task.free)};
  const bool many = model.rows() > race_rows;
  const std::optional<Model> part = many ? row_subset(model, race_rows) : std::nullopt;
  const auto stop = [&] { return climber.stopped(); };
  if (!part) {
    climber.allow(options.max_evaluations);
    const PartialFunction f = [&](const Vector& at) { return climber(at); };
    std::vector<Evaluated> out = race(f, stop, starts, climber.lower(), climber.upper(), options);
    climber.allow(task.options.max_evaluations);
    return out;
  }
  LearningObjective objective(*part, task.method, task.quiet_run(), task.options, task.free);
  const PartialFunction f = [&](const Vector& at) {
    auto evaluation = objective(at);
    climber.tell({0, objective.best_value(), 0.0, "learning from a part of the rows"});
    return evaluation;
  };
  std::vector<Evaluated> out = race(f, stop, starts, climber.lower(), climber.upper(), options);
  report.part_rows = race_rows;
  report.part_evaluations = objective.evaluations();
  // The caller keeps what there is.
  if (climber.stopped()) (void)climber.objective()(out.empty() ? first : out.front().point);
  return out;
}

Maximum ascend_from_best(Climber& climber, const std::vector<Evaluated>& starts, LearnReport& report) {
  const LearnTask& task = climber.task();
  std::vector<Evaluated> ends;
  for (const Evaluated& start : starts) {
    climber.objective().forget_start();
    const SearchOptions search{.max_evaluations = climber.left(),
                               .tolerance = task.options.tolerance,
                               .radius = final_radius,
                               .enough = final_gain};
    Maximum reached = climber.climb(start.point, search);
    if (reached.point.size() > 0)
      ends.push_back({std::move(reached.point), Evaluation{reached.value, std::move(reached.gradient)}});
  }
  if (ends.empty()) return {-std::numeric_limits<double>::infinity(), Status::numerical_failure, "the starts failed"};
  sort_best_first(ends);
  Maximum maximum = look_beyond(climber, climber.ascend(ends.front().point, ends.front().evaluation));
  warn_of_rivals(maximum, ends, task.free, report);
  return maximum;
}

}  // namespace gaussmith
