#include "learn/other_maxima.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Other maxima are looked for around one of up to this many parameters, where the function is not this far below, and
/// falls by less than this share of what the curvature says.
constexpr std::size_t most_beyond = 4;
constexpr double far_below = 30.0;
constexpr double surprise = 0.25;

/// Evaluations of a search before it is judged, and how far below what is known it may then be to go on.
constexpr int short_search = 12;
constexpr double short_fall = 4.0;
/// What it may leave to gain before it is compared, and what it must then be better by to be another maximum, not the
/// same by another way.
constexpr double rough_gain = 0.05;
constexpr double least_gain = 1e-3;
/// So near in its parameters it has come back, but for length-scales that are this far above their start.
constexpr double same_distance = 0.25;
const double out_of_sight = std::log(8.0);
/// So far above their start length-scales still show a slope.
constexpr double edge_of_sight = 5.0;

/// Up to this many features are tried at length-scales shorter by this step, or where they began if they are out of
/// sight, and longer by that one.
constexpr std::size_t most_features = 20;
const double shorter_step = std::log(4.0);
constexpr double longer_step = 3.0;
/// Pairs of this many features with the shortest length-scales beside their starts exchange their parts.
constexpr std::size_t most_swapped = 3;
/// A search follows from so many of these points at most, and where the function rises further on, or has fallen by
/// less than this, more for an exchange.
constexpr std::size_t most_searches = 3;
constexpr double small_fall = 2.0;
constexpr double swap_fall = 5.0;
/// Longer length-scales often fall by little and come back.
constexpr double hardly_a_fall = 0.2;
/// A better maximum is looked around from in turn, so often.
constexpr int most_rounds = 2;

/// The places of length-scales that have others beside them.
std::vector<Index> feature_scales(const std::vector<FreeParameter>& free) {
  std::vector<Index> out;
  for (const auto& group : lengthscale_groups(free))
    if (group.size() > 1) out.insert(out.end(), group.begin(), group.end());
  return out;
}

/// Near in every parameter, but for length-scales that both have grown out of sight.
bool came_back(const Vector& a, const Vector& b, const std::vector<FreeParameter>& free) {
  for (std::size_t p = 0; p < free.size(); ++p) {
    const auto i = static_cast<Index>(p);
    const bool is_scale = free[p].name.find("lengthscale[") != std::string::npos;
    const bool both_out = is_scale && std::min(a(i), b(i)) > free[p].initial + out_of_sight;
    if (!both_out && !(std::abs(a(i) - b(i)) < same_distance)) return false;
  }
  return true;
}

/// What is better is not left unfinished.
Maximum finished(Climber& climber, Maximum better) {
  if (better.status != Status::iteration_limit) return better;
  return climber.ascend_late(better.point, Evaluation{better.value, better.gradient});
}

/// What a search from a point leads to, if that is better than what is known: it is given up after a few evaluations
/// if it has come back or is far behind, and again before its last steps.
std::optional<Maximum> follow(Climber& climber, const Maximum& known, const Vector& from,
                              std::optional<Evaluation> there = {}) {
  const LearnTask& task = climber.task();
  const auto is_home = [&](const Vector& at) { return came_back(at, known.point, task.free); };
  const auto go_on = [&](const Maximum& at, const SearchOptions& search) {
    return climber.climb_away(is_home, at.point, search, Evaluation{at.value, at.gradient});
  };
  SearchOptions search{
      .max_evaluations = short_search, .tolerance = task.options.tolerance, .most_differences = 0, .few = 0};
  std::optional<Maximum> other = climber.climb_away(is_home, from, search, std::move(there));
  if (!other || !(other->value > known.value - short_fall)) return std::nullopt;
  search = {.max_evaluations = climber.left(), .tolerance = task.options.tolerance, .enough = rough_gain};
  other = go_on(*other, search);
  if (!other || !(other->value > known.value + least_gain)) return std::nullopt;
  Maximum better = climber.ascend_late(other->point, Evaluation{other->value, other->gradient});
  better = look_back(climber, std::move(better));
  return better.value > known.value ? std::optional(std::move(better)) : std::nullopt;
}

/// Points around a maximum with a length-scale for every feature.
class AmongFeatures {
 public:
  AmongFeatures(Climber& climber, const Maximum& home) : climber_(climber), home_(home) {
    for (const Index i : feature_scales(climber.task().free))
      (beyond_start(i) > out_of_sight ? off_ : on_).push_back(i);
    // Shortest first.
    std::stable_sort(on_.begin(), on_.end(), [&](Index a, Index b) { return beyond_start(a) < beyond_start(b); });
  }

  /// The best of the points that are worth a search, best first.
  std::vector<Evaluated> candidates() {
    climber_.objective().set_floor(home_.value - far_below);
    if (on_.size() + off_.size() <= most_features) {
      for (const Index i : on_) try_at(i, home_.point(i) - shorter_step, small_fall);
      for (const Index i : off_) try_at(i, climber_.task().free[static_cast<std::size_t>(i)].initial, small_fall);
    }
    // The longest are the likeliest not to matter.
    const std::size_t tried = std::min(on_.size(), most_features);
    for (std::size_t k = on_.size() - tried; k < on_.size(); ++k)
      try_at(on_[k], home_.point(on_[k]) + longer_step, hardly_a_fall);
    const std::size_t shortest = std::min(on_.size(), most_swapped);
    for (std::size_t a = 0; a < shortest; ++a)
      for (std::size_t b = a + 1; b < shortest; ++b) try_swap(on_[a], on_[b]);
    climber_.objective().set_floor(-std::numeric_limits<double>::infinity());
    sort_best_first(seen_);
    if (seen_.size() > most_searches) seen_.resize(most_searches);
    return std::move(seen_);
  }

 private:
  [[nodiscard]] double beyond_start(Index i) const {
    return home_.point(i) - climber_.task().free[static_cast<std::size_t>(i)].initial;
  }

  void try_at(Index i, double place, double largest_fall) {
    Vector there = home_.point;
    there(i) = std::clamp(place, climber_.lower()(i), climber_.upper()(i));
    auto evaluation = climber_(there);
    if (!evaluation || climber_.stopped()) return;
    const double fall = home_.value - evaluation->value;
    const double slope = evaluation->gradient(i) * (there(i) - home_.point(i));
    // A constant column moves nothing.
    if (std::abs(fall) < least_gain && std::abs(slope) < least_gain) return;
    if (slope > 0.0 || fall < largest_fall) seen_.push_back({std::move(there), std::move(*evaluation)});
  }

  void try_swap(Index a, Index b) {
    if (beyond_start(b) - beyond_start(a) < same_distance) return;
    Vector there = home_.point;
    there(a) = home_.point(a) + beyond_start(b) - beyond_start(a);
    there(b) = home_.point(b) + beyond_start(a) - beyond_start(b);
    there = there.cwiseMax(climber_.lower()).cwiseMin(climber_.upper());
    auto evaluation = climber_(there);
    if (!evaluation || climber_.stopped()) return;
    const double fall = home_.value - evaluation->value;
    if (fall < swap_fall) seen_.push_back({std::move(there), std::move(*evaluation)});
  }

  Climber& climber_;
  const Maximum& home_;
  std::vector<Index> on_, off_;
  std::vector<Evaluated> seen_;
};

}  // namespace

Maximum look_beyond(Climber& climber, Maximum found) {
  const std::vector<FreeParameter>& free = climber.task().free;
  if (found.status != Status::converged || free.size() > most_beyond || climber.stopped()) return found;
  if (!found.curvature) found.curvature = climber.curvature_at_best();
  if (!found.curvature) return found;
  const Matrix hessian = found.curvature->hessian;
  const Vector home = found.point;
  for (const Vector& step : steps_beyond(*found.curvature, free)) {
    // Within a standard error, and less than half of the way out where a standard error is more than that.
    const double half_way = 0.5 * step.lpNorm<Eigen::Infinity>();
    const auto is_home = [&](const Vector& at) {
      const Vector out = at - home;
      return out.lpNorm<Eigen::Infinity>() < half_way && -out.dot(hessian * out) < 1.0;
    };
    const Vector there = (home + step).cwiseMax(climber.lower()).cwiseMin(climber.upper());
    const double expected = -0.5 * (there - home).dot(hessian * (there - home));
    climber.objective().set_floor(found.value - far_below);
    const auto evaluation = climber(there);
    climber.objective().set_floor(-std::numeric_limits<double>::infinity());
    if (!evaluation || climber.stopped()) continue;
    const double fall = found.value - evaluation->value;
    const bool away = evaluation->gradient.dot(there - home) > 0.0;
    if (!(fall < far_below) || !(away || fall < surprise * expected)) continue;
    const SearchOptions search{.max_evaluations = climber.left(), .tolerance = climber.task().options.tolerance};
    std::optional<Maximum> other = climber.climb_away(is_home, there, search, evaluation);
    if (other && other->value > found.value) found = finished(climber, std::move(*other));
  }
  return found;
}

Maximum look_back(Climber& climber, Maximum found) {
  if (found.status != Status::converged || climber.stopped()) return found;
  Vector there = found.point;
  std::vector<Index> away;
  for (const Index i : feature_scales(climber.task().free)) {
    const double edge = climber.task().free[static_cast<std::size_t>(i)].initial + edge_of_sight;
    if (found.point(i) <= edge) continue;
    there(i) = edge;
    away.push_back(i);
  }
  if (away.empty()) return found;
  std::optional<Evaluation> at = climber(there);
  if (!at) return found;
  const double goal = gradient_goal(climber.task().options.tolerance, *at);
  std::size_t wanted = 0;
  for (const Index i : away) {
    if (at->gradient(i) < -goal)
      ++wanted;
    else
      there(i) = found.point(i);
  }
  if (wanted == 0) return found;
  if (wanted < away.size()) at = climber(there);
  if (!at) return found;
  Maximum other = climber.ascend(there, std::move(at));
  return other.value > found.value + least_gain ? finished(climber, std::move(other)) : found;
}

Maximum look_untied(Climber& climber, Maximum found, const Vector& start) {
  if (found.status != Status::converged || climber.stopped()) return found;
  climber.objective().forget_start();
  std::optional<Maximum> other = follow(climber, found, start);
  return other ? std::move(*other) : std::move(found);
}

Maximum look_among_features(Climber& climber, Maximum found) {
  for (int round = 0; round < most_rounds; ++round) {
    if (found.status != Status::converged || climber.stopped()) return found;
    bool better = false;
    for (const Evaluated& candidate : AmongFeatures(climber, found).candidates()) {
      std::optional<Maximum> other = follow(climber, found, candidate.point, candidate.evaluation);
      if (!other) continue;
      found = std::move(*other);
      better = true;
    }
    if (!better) return found;
  }
  return found;
}

}  // namespace gaussmith
