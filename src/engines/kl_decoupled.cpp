// Khan's decoupled inference (2014, Algorithm 1): sigma = (v + sigma_k^2)/(2 sigma_k) in place of sigma^2 = v, and
// (c/2) lambda_k (sigma - sigma_k)^2 added. Stationary in site form: alpha = f_m, lambda = [f_s + c lambda_k (sigma -
// sigma_k)]/sigma_k at (m, sigma). With c >= 0 a minorisation that touches the bound at v = sigma_k^2, for log-concave
// sites: the next sigma_k is sqrt(v), and the bound never falls.

#include "engines/linearised_dual.hpp"
#include "engines/solver_record.hpp"
#include "engines/solver_steps.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// A subproblem is solved to this share of what the outer problem has left, and no better than doubles allow.
constexpr double inner_share = 0.02;
constexpr double best_inner = 1e-10;
constexpr int most_inner_steps = 200;
/// From here on the Lagrangian's own sign converges quadratically.
constexpr double near_optimum = 0.1;
/// delta where none was given and one is needed, how it grows, and where that ends.
constexpr double first_delta = 1.0;
constexpr double delta_growth = 10.0;
constexpr double last_delta = 1e6;

class DecoupledAscent {
 public:
  DecoupledAscent(GaussianCore& core, const SiteRows& sites, const Kl& options, SolverRecord& record)
      : core_(core),
        sites_(sites),
        options_(options),
        record_(record),
        concave_(sites.all(&SiteTraits::log_concave)),
        delta_(options.decoupled.delta) {
    if (!concave_ && delta_ == 0.0) delta_ = first_delta;
  }

  void climb(const KlStart& start) {
    if (!record_.look(start.precision, start.mean, now_))
      return record_.end_with(Status::numerical_failure, "the start has no finite bound");
    ++record_.report().iterations;
    if (record_.over(now_, "start")) return;
    const int most = evaluations_each * record_.most();
    while (record_.report().iterations < most) {
      if (!step()) return record_.end_with(Status::stalled, why_not());
      if (record_.over(now_, kind_)) return;
    }
    record_.end_with(Status::iteration_limit,
                     fmt::format("no optimum within {} evaluations and factorisations; raise kl.max_iterations, or use "
                                 "kl.solver = sites",
                                 most));
  }

 private:
  [[nodiscard]] bool near() const { return now_.residual < near_optimum && !lagrangian_failed_; }

  /// One outer step: the subproblems in the order in which they are tried.
  bool step() {
    using enum DecoupledPenalty;
    const DecoupledPenalty penalty = options_.decoupled.penalty;
    const double safe = penalty == printed || !concave_ ? 1.0 : 0.0;
    if (penalty == lagrangian || (penalty == automatic && near())) {
      if (advance(-1.0, "lagrangian")) return true;
      lagrangian_failed_ = penalty == automatic;
    }
    for (;;) {
      if (advance(safe, safe > 0.0 ? "printed" : "none")) return true;
      if (concave_ || delta_ >= last_delta) return false;
      delta_ *= delta_growth;
    }
  }

  bool advance(double c, std::string_view kind) {
    const Linearised linear{now_.variance.cwiseSqrt(), c * now_.precision.cwiseMax(0.0),
                            concave_ ? options_.decoupled.delta : delta_};
    KlPoint next;
    // c >= 0 converges linearly: what a subproblem leaves open costs its square. c = -1 converges quadratically.
    const double left = std::min(1.0, now_.residual);
    const double goal = std::max(best_inner, inner_share * (c >= 0.0 ? left : left * left));
    bool solved = concave_ && c >= 0.0 && by_dual(linear, goal, next);
    if (!solved) solved = by_sites(linear, goal, next);
    const double slack = 1e-12 * (1.0 + std::abs(now_.bound) + std::abs(now_.mean.objective));
    if (!solved || !(next.bound >= now_.bound - slack)) return false;
    // Rounding alone is no progress.
    if (next.bound <= now_.bound + slack && !(next.residual < now_.residual)) return false;
    now_ = std::move(next);
    kind_ = kind;
    return true;
  }

  bool by_dual(const Linearised& linear, double goal, KlPoint& next) {
    const LinearisedProblem problem{linear, now_, goal, most_inner_steps};
    LinearisedEnd end;
    if (options_.decoupled.penalty == DecoupledPenalty::printed) {
      end = lbfgs_on_dual(core_, sites_, problem);
      record_.report().iterations += end.factorisations;
    }
    if (!end.solved) {
      end = newton_on_dual(core_, sites_, problem);
      record_.report().iterations += end.factorisations;
    }
    return end.solved && record_.look(end.precision, core_.point(-end.alpha), next);
  }

  /// The loop of the site form on the subproblem: it needs no conjugate.
  bool by_sites(const Linearised& linear, double goal, KlPoint& next) {
    const SiteRows linearised = sites_.linearised(linear);
    Report report;
    const ClimbOptions how{"kl", most_inner_steps, goal, 1};
    if (!core_.set({now_.precision, Vector::Zero(core_.rows())})) return false;
    const KlPoint found = climb_kl(core_, linearised, how, {}, {now_.precision, now_.mean.at}, report);
    record_.report().iterations += report.iterations;
    if (!std::isfinite(found.bound)) return false;
    return record_.look(found.precision, found.mean.at, next);
  }

  [[nodiscard]] std::string why_not() const {
    return concave_ ? std::string("no subproblem raises the bound any more in double precision")
                    : fmt::format("no subproblem raises the bound, whatever delta up to {:.0e}; use kl.solver = sites",
                                  last_delta);
  }

  GaussianCore& core_;
  const SiteRows& sites_;
  const Kl& options_;
  SolverRecord& record_;
  bool concave_, lagrangian_failed_ = false;
  double delta_;
  KlPoint now_;
  std::string_view kind_ = "start";
};

}  // namespace

void climb_decoupled(GaussianCore& core, const SiteRows& sites, const Kl& options, const KlStart& start,
                     SolverRecord& record) {
  DecoupledAscent(core, sites, options, record).climb(start);
}

}  // namespace gaussmith
