#include "learn/race.hpp"

#include "learn/maximise.hpp"

#include <algorithm>
#include <utility>

namespace gaussmith {

namespace {

/// Nearer than this in every coordinate are two points of one hill.
constexpr double same_hill = 0.2;
constexpr std::size_t share_of_survivors = 3;
/// First steps once narrow coordinates are free.
constexpr double careful_radius = 0.2;

/// Best first, without those beside a better one.
void sort_and_thin(std::vector<Evaluated>& runners) {
  sort_best_first(runners);
  std::vector<Evaluated> kept;
  for (Evaluated& runner : runners) {
    const bool beside = std::any_of(kept.begin(), kept.end(), [&](const Evaluated& better) {
      return (better.point - runner.point).lpNorm<Eigen::Infinity>() < same_hill;
    });
    if (!beside) kept.push_back(std::move(runner));
  }
  runners = std::move(kept);
}

}  // namespace

std::vector<Evaluated> race(const PartialFunction& f, const std::function<bool()>& stop,
                            const std::vector<Vector>& starts, const Vector& lower, const Vector& upper,
                            const RaceOptions& options) {
  int left = options.max_evaluations;
  // Few evaluations go into steps, none into second derivatives.
  const auto run = [&](const Vector& from, int evaluations, bool hold, std::optional<Evaluation> known,
                       std::vector<Evaluated>& runners) {
    const bool careful = !hold && !options.narrow.empty();
    const SearchOptions search{.max_evaluations = std::min(evaluations, left),
                               .radius = careful ? careful_radius : 1.0,
                               .most_differences = 0,
                               .few = 0};
    Vector below = lower, above = upper;
    if (hold)
      for (const Index i : options.narrow) below(i) = above(i) = from(i);
    Maximum reached = maximise(f, stop, from, below, above, search, std::move(known));
    left -= reached.evaluations;
    if (reached.point.size() > 0)
      runners.push_back({std::move(reached.point), Evaluation{reached.value, std::move(reached.gradient)}});
  };
  std::vector<Evaluated> runners;
  for (const Vector& start : starts)
    if (left > 0 && !stop()) run(start, options.first_round, true, {}, runners);
  sort_and_thin(runners);
  while (!runners.empty() && left > 0 && !stop()) {
    const bool last = runners.size() <= options.finalists;
    runners.resize(std::min(runners.size(), std::max(options.finalists, runners.size() / share_of_survivors)));
    std::vector<Evaluated> next;
    for (Evaluated& runner : runners) {
      if (left > 0 && !stop())
        run(runner.point, options.later_rounds, !last, runner.evaluation, next);
      else
        next.push_back(std::move(runner));
    }
    runners = std::move(next);
    sort_and_thin(runners);
    if (last) break;
  }
  if (runners.size() > options.finalists) runners.resize(options.finalists);
  return runners;
}

}  // namespace gaussmith
