#include "engines/solver_steps.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>

namespace gaussmith {

namespace {

/// Values end before the equations do: the bound may be as good as its optimum where the residual is not.
std::string what_is_left(const Report& report) {
  if (!report.duality_gap) return {};
  return fmt::format("; the bound can rise by {:.1e} nats at most, and kl.stop = gap ends at kl.gap_tolerance",
                     *report.duality_gap);
}

}  // namespace

void climb_by(QuasiNewton& search, Vector x, SolverRecord& record, const LookAt& look) {
  int steps = 0;
  Vector looked;
  const auto take = [&](const Vector& at) {
    KlPoint point;
    record.report().iterations = search.evaluations();
    looked = at;
    return look(at, point) && record.over(std::move(point), "quasi-newton");
  };
  const int most = evaluations_each * record.most();
  const QuasiNewtonEnd end = search.minimise(std::move(x), most, [&](const Vector& at, double) {
    const bool now = steps < steps_between_looks || steps % steps_between_looks == 0;
    ++steps;
    return now && take(at);
  });
  if (end == QuasiNewtonEnd::told) return;
  if (looked != search.point() && take(search.point())) return;
  record.report().iterations = search.evaluations();
  if (end == QuasiNewtonEnd::evaluations)
    record.give_up(Status::iteration_limit,
                   fmt::format("no optimum within {} evaluations; raise kl.max_iterations, or use kl.solver = sites{}",
                               most, what_is_left(record.report())));
  else
    record.give_up(Status::stalled,
                   "no step lowers the objective any more in double precision; kl.solver = sites goes on" +
                       what_is_left(record.report()));
}

}  // namespace gaussmith
