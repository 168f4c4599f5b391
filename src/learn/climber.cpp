#include "learn/climber.hpp"

#include "engines/infer_valid.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gaussmith {

Run LearnTask::quiet_run() const {
  Run quiet = run;
  quiet.progress = {};
  return quiet;
}

Climber::Climber(const LearnTask& task)
    : task_(task),
      lower_(collect(task.free, &FreeParameter::lower)),
      upper_(collect(task.free, &FreeParameter::upper)),
      objective_(task.model, task.method, task.run, task.options, task.free),
      progress_(task.run.progress, nullptr) {}

bool Climber::has_many_rows() const { return task_.model.rows() >= many_rows; }

void Climber::tell(const Iteration& iteration) {
  if (progress_.tell(iteration) == Next::accept) stopped_ = true;
}

std::optional<Evaluation> Climber::operator()(const Vector& at) {
  if (left_ <= 0 || stopped_) return std::nullopt;
  --left_;
  auto evaluation = objective_(at);
  if (objective_.evaluations() == 1) {
    // A model that cannot even be fitted where the user starts is told as infer() would tell it.
    if (!evaluation) (void)infer_valid(task_.model, task_.method, task_.quiet_run());
    first_ = evaluation;
  }
  const double residual = evaluation
                              ? projected_gradient(evaluation->gradient, at, task_.free).lpNorm<Eigen::Infinity>()
                              : std::numeric_limits<double>::infinity();
  if (when_better_ && evaluation && objective_.best_point() == at) when_better_();
  tell({objective_.evaluations(), objective_.best_value(), residual, "learning"});
  return evaluation;
}

Maximum Climber::climb_in(const PartialFunction& f, const Vector& lower, const Vector& upper, const Vector& from,
                          SearchOptions search, std::optional<Evaluation> known) {
  search.max_evaluations = std::min(search.max_evaluations, left_);
  Maximum maximum = maximise(
      f, [this] { return stopped_; }, from, lower, upper, search, std::move(known));
  curvature_evaluations_ += maximum.curvature_evaluations;
  return maximum;
}

Maximum Climber::climb(const Vector& from, SearchOptions search, std::optional<Evaluation> known) {
  const PartialFunction f = [this](const Vector& at) { return (*this)(at); };
  return climb_in(f, lower_, upper_, from, search, std::move(known));
}

Maximum Climber::ascend(const Vector& from, std::optional<Evaluation> known) {
  const SearchOptions search{.max_evaluations = left_,
                             .tolerance = task_.options.tolerance,
                             .near_enough = has_many_rows() ? near_enough : 0.0};
  return climb(from, search, std::move(known));
}

Maximum Climber::ascend_late(const Vector& from, const Evaluation& known) {
  left_ = std::max(left_, task_.options.max_evaluations / 2);
  return ascend(from, known);
}

std::optional<Maximum> Climber::climb_away(const std::function<bool(const Vector&)>& is_home, const Vector& from,
                                           SearchOptions search, std::optional<Evaluation> known) {
  bool back = false;
  const PartialFunction f = [&](const Vector& at) -> std::optional<Evaluation> {
    back = back || is_home(at);
    if (back) return std::nullopt;
    return (*this)(at);
  };
  search.max_evaluations = std::min(search.max_evaluations, left_);
  Maximum maximum = maximise(
      f, [&] { return stopped_ || back; }, from, lower_, upper_, search, std::move(known));
  curvature_evaluations_ += maximum.curvature_evaluations;
  if (back || stopped_ || maximum.point.size() == 0) return std::nullopt;
  return maximum;
}

std::optional<Curvature> Climber::curvature_at_best() {
  const int before = objective_.evaluations();
  const Vector point = objective_.best_point();
  const Evaluation there = objective_.best_evaluation();
  const PartialFunction f = [this](const Vector& at) { return (*this)(at); };
  auto found = curvature_inside(f, point, there, lower_, upper_, 1.0, left_);
  curvature_evaluations_ += objective_.evaluations() - before;
  return found;
}

}  // namespace gaussmith
