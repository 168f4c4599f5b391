#pragma once
// Searches over the objective of learning: within a budget of evaluations, and as long as the caller lets them.

#include "base/progress.hpp"
#include "learn/explore.hpp"
#include "learn/free_parameters.hpp"
#include "learn/learning_objective.hpp"
#include "learn/maximise.hpp"

#include <functional>
#include <optional>
#include <utility>

namespace gaussmith {

/// What one call of learn() was asked for; all of it is lent.
struct LearnTask {
  const Model& model;
  const Method& method;
  const LearnOptions& options;
  const Run& run;
  const std::vector<FreeParameter>& free;

  /// The run without its progress.
  [[nodiscard]] Run quiet_run() const;
};

class Climber {
 public:
  explicit Climber(const LearnTask& task);
  Climber(const Climber&) = delete;
  Climber& operator=(const Climber&) = delete;

  /// The objective, counted against the budget; empty also when that is used up and after a stop.
  [[nodiscard]] std::optional<Evaluation> operator()(const Vector& at);

  /// One search with what is left of the budget. What `search` allows beyond that is cut.
  [[nodiscard]] Maximum climb(const Vector& from, SearchOptions search, std::optional<Evaluation> known = {});
  /// To the end, as near as learning asks for.
  [[nodiscard]] Maximum ascend(const Vector& from, std::optional<Evaluation> known = {});
  /// The same from a point that is better than all before: however late it was seen, half of a start's evaluations are
  /// there for it.
  [[nodiscard]] Maximum ascend_late(const Vector& from, const Evaluation& known);
  /// The same as `climb`, but empty as soon as the search steps on a place that `is_home` knows.
  [[nodiscard]] std::optional<Maximum> climb_away(const std::function<bool(const Vector&)>& is_home, const Vector& from,
                                                  SearchOptions search, std::optional<Evaluation> known = {});
  /// The objective in coordinates of the caller's: `f` calls this climber.
  [[nodiscard]] Maximum climb_in(const PartialFunction& f, const Vector& lower, const Vector& upper, const Vector& from,
                                 SearchOptions search, std::optional<Evaluation> known = {});
  /// Second derivatives at the best point so far.
  [[nodiscard]] std::optional<Curvature> curvature_at_best();

  [[nodiscard]] int left() const { return left_; }
  void allow(int evaluations) { left_ = evaluations; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  void stop() { stopped_ = true; }
  /// Tells the caller, who may ask to stop.
  void tell(const Iteration& iteration);

  /// Has this called after every evaluation that is better than those before.
  void when_better(std::function<void()> call) { when_better_ = std::move(call); }

  [[nodiscard]] const LearnTask& task() const { return task_; }
  [[nodiscard]] const Vector& lower() const { return lower_; }
  [[nodiscard]] const Vector& upper() const { return upper_; }
  [[nodiscard]] LearningObjective& objective() { return objective_; }
  [[nodiscard]] const LearningObjective& objective() const { return objective_; }
  /// The very first evaluation, if it succeeded.
  [[nodiscard]] const std::optional<Evaluation>& first() const { return first_; }
  [[nodiscard]] int curvature_evaluations() const { return curvature_evaluations_; }
  /// With so many rows, evaluations are dear.
  [[nodiscard]] bool has_many_rows() const;

 private:
  LearnTask task_;
  Vector lower_, upper_;
  LearningObjective objective_;
  Progress progress_;
  std::function<void()> when_better_;
  std::optional<Evaluation> first_;
  int left_ = 0;
  int curvature_evaluations_ = 0;
  bool stopped_ = false;
};

/// From this many rows on, the search begins with what half of them says, and so on down.
inline constexpr Index many_rows = 400;
/// With many rows, so near to the maximum, in standard errors, is there.
inline constexpr double near_enough = 1e-3;

}  // namespace gaussmith
