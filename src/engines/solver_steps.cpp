#include "engines/solver_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace gaussmith {

namespace {

/// Values that have not fallen by more than their rounding for so many steps will not.
constexpr int idle_steps = 100;
/// A bound that can rise by no more, in nats. To second order a mean off by d standard deviations costs d^2 / 2 of it,
/// a variance off by a share e costs e^2 / 4: some 5e-6 and 7e-6.
constexpr double settled_gap = 1e-11;

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
  double least = std::numeric_limits<double>::infinity();
  int idle = 0;
  bool over = false;
  const QuasiNewtonEnd end = search.minimise(std::move(x), most, [&](const Vector& at, double value) {
    const bool falls = value < least - 4.0 * std::numeric_limits<double>::epsilon() * (1.0 + std::abs(value));
    idle = falls ? 0 : idle + 1;
    least = std::min(least, value);
    const bool now = steps < steps_between_looks || steps % steps_between_looks == 0;
    ++steps;
    over = now && take(at);
    return over || idle > idle_steps;
  });
  if (over) return;
  if (looked != search.point() && take(search.point())) return;
  record.report().iterations = search.evaluations();
  if (const auto gap = record.report().duality_gap; gap && *gap <= settled_gap)
    record.end_with(
        Status::converged,
        fmt::format("within {:.1e} nats of the optimum of the bound, where its values end in double precision", *gap));
  else if (end == QuasiNewtonEnd::evaluations)
    record.end_with(Status::iteration_limit,
                    fmt::format("no optimum within {} evaluations; raise kl.max_iterations, or use kl.solver = sites{}",
                                most, what_is_left(record.report())));
  else
    record.end_with(Status::stalled,
                    "no step lowers the objective any more in double precision; kl.solver = sites goes on" +
                        what_is_left(record.report()));
}

}  // namespace gaussmith
