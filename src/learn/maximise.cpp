#include "learn/maximise.hpp"

#include <fmt/format.h>
#include <nlopt.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>

namespace gaussmith {

namespace {

/// What a failed evaluation is worth: clearly worse than anything seen, so that every line search steps back from it.
constexpr double failure_penalty = 10.0;

struct Search {
  const std::function<std::optional<Evaluation>(const Vector&)>& f;
  const std::function<bool()>& stop;
  const Vector& lower;
  const Vector& upper;
  double tolerance;
  int evaluations_left;

  nlopt_opt optimiser = nullptr;
  Vector best_point = {}, best_gradient = {};
  double best = -std::numeric_limits<double>::infinity();
  double worst = std::numeric_limits<double>::infinity();
  double residual = std::numeric_limits<double>::infinity();
  std::exception_ptr thrown = {};

  [[nodiscard]] double projected(const Vector& at, const Vector& gradient) const {
    double largest = 0.0;
    for (Index i = 0; i < at.size(); ++i) {
      const bool blocked = (at(i) <= lower(i) && gradient(i) < 0.0) || (at(i) >= upper(i) && gradient(i) > 0.0);
      if (!blocked) largest = std::max(largest, std::abs(gradient(i)));
    }
    return largest;
  }

  double evaluate(const Vector& at, double* gradient) {
    --evaluations_left;
    const auto evaluation = f(at);
    if (stop() || evaluations_left <= 0) nlopt_force_stop(optimiser);
    if (!evaluation) {
      // A slope back to the best point keeps quadratic models of the line search sensible.
      const Vector back = best_point.size() > 0 ? Vector(best_point - at) : Vector(Vector::Zero(at.size()));
      if (gradient) Eigen::Map<Vector>(gradient, at.size()) = failure_penalty * back / std::max(1e-12, back.norm());
      return (std::isfinite(worst) ? worst : 0.0) - failure_penalty * (1.0 + back.norm());
    }
    worst = std::min(worst, evaluation->value);
    if (gradient) Eigen::Map<Vector>(gradient, at.size()) = evaluation->gradient;
    if (evaluation->value > best) {
      best = evaluation->value;
      best_point = at;
      best_gradient = evaluation->gradient;
      residual = projected(at, evaluation->gradient);
      if (residual <= tolerance) nlopt_force_stop(optimiser);
    }
    return evaluation->value;
  }

  static double call(unsigned n, const double* x, double* gradient, void* data) {
    auto* self = static_cast<Search*>(data);
    // NLopt is C: an exception must not cross it.
    try {
      return self->evaluate(Eigen::Map<const Vector>(x, n), gradient);
    } catch (...) {
      self->thrown = std::current_exception();
      nlopt_force_stop(self->optimiser);
      if (gradient) std::fill(gradient, gradient + n, 0.0);
      return self->best;
    }
  }

  void run(nlopt_algorithm algorithm, Vector point) {
    const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> owner(
        nlopt_create(algorithm, static_cast<unsigned>(point.size())), &nlopt_destroy);
    optimiser = owner.get();
    nlopt_set_max_objective(optimiser, &Search::call, this);
    nlopt_set_lower_bounds(optimiser, lower.data());
    nlopt_set_upper_bounds(optimiser, upper.data());
    // Stop on our own certificate; NLopt's tolerances only end a search that no longer moves.
    nlopt_set_ftol_rel(optimiser, 1e-15);
    nlopt_set_xtol_rel(optimiser, 1e-12);
    nlopt_set_maxeval(optimiser, evaluations_left);
    double value = 0.0;
    nlopt_optimize(optimiser, point.data(), &value);  // How it ended is judged by the residual.
    optimiser = nullptr;
    if (thrown) std::rethrow_exception(thrown);
  }

  [[nodiscard]] bool finished() const { return residual <= tolerance || stop() || evaluations_left <= 0; }
};

}  // namespace

Maximum maximise(const std::function<std::optional<Evaluation>(const Vector&)>& f, const std::function<bool()>& stop,
                 const Vector& start, const Vector& lower, const Vector& upper, int max_evaluations, double tolerance) {
  Search search{f, stop, lower, upper, tolerance, max_evaluations};
  search.run(NLOPT_LD_LBFGS, start);
  for (const nlopt_algorithm next : {NLOPT_LD_SLSQP, NLOPT_LD_LBFGS, NLOPT_LD_MMA})
    if (!search.finished() && search.best_point.size() > 0) search.run(next, search.best_point);

  Maximum out{search.best, Status::converged, fmt::format("largest projected gradient {:.1e}", search.residual)};
  if (search.residual > tolerance) {
    if (search.evaluations_left <= 0) {
      out.status = Status::iteration_limit;
      out.message =
          fmt::format("{} evaluations used, largest projected gradient {:.1e}", max_evaluations, search.residual);
    } else {
      out.status = stop() ? Status::stopped : Status::stalled;
      out.message =
          fmt::format("no further increase in double precision, largest projected gradient {:.1e}", search.residual);
    }
  }
  return out;
}

}  // namespace gaussmith
