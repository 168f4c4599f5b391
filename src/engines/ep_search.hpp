#pragma once
// The search for an EP fixed point: three kinds of updates on one state. Each ends with a reason; the plan that strings
// them together stands in ep_plan.cpp.

#include "base/progress.hpp"
#include "engines/ep_state.hpp"
#include "gaussmith/infer.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace gaussmith {

/// Why a kind of update came to its end.
enum class StageEnd {
  converged,        ///< The mismatch is below the tolerance.
  rounding,         ///< It stopped falling where rounding of the means hides the rest.
  not_falling,      ///< The mismatch did not fall any more.
  improper_cavity,  ///< Cavities without a positive variance that smaller steps did not mend.
  not_definite,     ///< K^-1 + T lost definiteness on every step that was tried.
  close,            ///< The mismatch is small enough for cheaper updates to take over.
  share_spent,      ///< The sweeps set aside for this kind of update are used up.
  limit,            ///< No sweeps left.
  no_sweeps,        ///< This form of the core has no updates of one site at a time.
  stopped           ///< The progress callback asked to stop.
};
[[nodiscard]] std::string_view reason(StageEnd end);

/// Watches a value that should fall: how long it is since it last fell clearly.
class Falling {
 public:
  Falling(double value, int patience) : mark_(value), patience_(patience) {}

  /// Takes the next value; `anyway` says that there was progress of another kind.
  void next(double value, bool anyway = false) {
    idle_ = anyway || value < clearly_below * mark_ ? 0 : idle_ + 1;
    if (value < clearly_below * mark_) mark_ = value;
  }
  [[nodiscard]] int idle() const { return idle_; }
  [[nodiscard]] bool stuck() const { return idle_ > patience_; }

 private:
  static constexpr double clearly_below = 0.9;
  double mark_;
  int patience_, idle_ = 0;
};

class EpSearch {
 public:
  class Surrogate;  ///< Of the double loop.
  /// States are shared, not copied: some twelve numbers a row each.
  using StatePointer = std::shared_ptr<const EpState>;

  EpSearch(GaussianCore& core, const SiteRows& sites, const Ep& options, const Run& run, Report& report);

  /// Site parameters of an earlier result where they still give a proper Gaussian, else none at all (or broad ones that
  /// the sites themselves suggest when there is no Gaussian factor).
  void start_from(const Posterior* warm);

  /// All sites at once, with Anderson acceleration of the sweeps.
  [[nodiscard]] StageEnd parallel(double damping);
  /// One site at a time, by rank-one updates; refactorised after every sweep.
  [[nodiscard]] StageEnd sequential(double damping);
  /// min over surrogates of the max over sites of the expectation-consistent free energy.
  /// Ends early once the mismatch is below `until`, and after the sweep with number `last_sweep`.
  [[nodiscard]] StageEnd double_loop(double until, int last_sweep);

  /// From here on another power; the sites are kept where they are valid.
  void set_power(double power);
  /// From these sites, or from none, at this power; what was best before is forgotten. start_at() is false, and changes
  /// nothing but the power, where the sites give no Gaussian.
  [[nodiscard]] bool start_at(const SiteApproximation& sites, double power);
  void start_afresh(double power);
  /// The fixed point at a lower power, easier to reach, as the current state; the best state stays what it was.
  void start_at_power(double lower, double damping);
  /// Makes a state found at this power earlier the best one again.
  void restore(StatePointer best, double power);
  [[nodiscard]] double power() const { return moments_.power(); }

  /// Returns to the best state seen; settle() also leaves the core there.
  void return_to_best() { now_ = best_; }
  const EpState& settle();
  [[nodiscard]] const StatePointer& best() const { return best_; }
  /// E_q[log joint] + entropy of a state's Gaussian, below the true log evidence whatever the state:
  /// sum E[log t] - 1/2 |u|^2 - 1/2 log|I + K T| + 1/2 sum tau v. Not a number where K^-1 + T is not definite.
  [[nodiscard]] double lower_bound(const EpState& state) const;
  /// What rounding leaves uncertain in the means of the best state, in standard deviations.
  [[nodiscard]] double rounding() const;

 private:
  enum class Visit { proper, improper, indefinite };

  /// One sweep: the state at these site parameters becomes the current one, unless they are indefinite.
  Visit visit(SiteApproximation sites, std::string_view kind);
  /// The inner problem of the double loop, until its mismatch reaches the goal; the reason if the loop ends here.
  [[nodiscard]] std::optional<StageEnd> solve_inner(const Surrogate& surrogate, double goal, EpState& inner);
  /// Writes the sweep down and asks the caller; the search stops at the next opportunity if it says so.
  void tell(std::string_view kind);
  void keep_best();
  /// Makes the state at these sites the current one; false, and nothing changes, where they are indefinite.
  [[nodiscard]] bool evaluate(SiteApproximation sites);
  [[nodiscard]] bool out_of_sweeps() const { return stopped_ || report_.iterations >= options_.max_iterations; }
  [[nodiscard]] StageEnd out_of_sweeps_reason() const { return stopped_ ? StageEnd::stopped : StageEnd::limit; }
  /// How a stage ends whose mismatch does not fall: the best state may be as good as double precision allows.
  [[nodiscard]] StageEnd not_falling() const;
  [[nodiscard]] bool converged() const { return now_->mismatch <= options_.tolerance; }

  GaussianCore& core_;
  const SiteRows& sites_;
  const Ep& options_;
  Report& report_;
  Progress progress_;
  EpMoments moments_;
  StatePointer now_, best_;
  bool stopped_ = false;
  std::string_view kind_override_ = {};  // What sweeps are called while they only look for a start.
};

}  // namespace gaussmith
