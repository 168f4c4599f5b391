#include "network/network_run.hpp"

#include "engines/anderson.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace gaussmith {

namespace {

/// Sweeps before the first unit may go, and between two looks.
constexpr int first_pruning = 40, pruning_every = 20;
/// Sweeps that a fit without a unit gets before it is compared with the one that has it, and sweeps before the same is
/// tried again.
constexpr int trial_sweeps = 10, trial_every = 100;
/// Larger steps are taken once the units have found their places, unless smaller ones than usual are asked for.
constexpr int careful_sweeps = 60;
constexpr double later_damping = 0.8;
/// Accelerated sweeps begin so long after the last loss of a unit and once the mismatch is so small: while a unit is
/// dying they only stir.
constexpr int quiet_sweeps = 20, quiet_linear = 10;
constexpr double quiet_mismatch = 3e-3, quiet_mismatch_linear = 0.5;
constexpr int mixing_depth = 15;
/// An accelerated sweep this much worse than the best so far is taken back.
constexpr double worse = 10.0;
/// How many times the change of a plain sweep an accelerated step may be.
constexpr double first_reach = 10.0, shortest_reach = 2.0, longest_reach = 100.0;
/// And how far it may move a log scale or the log noise.
constexpr double furthest_scale = 1.0;

/// Anderson mixing of sweeps with steps of bounded length, which takes back what made matters worse.
class AcceleratedSweeps {
 public:
  explicit AcceleratedSweeps(NetworkFit& fit) : fit_(&fit), mixing_(mixing_depth) {}

  /// Where the sweep begins.
  void before_sweep() { before_ = fit_->packed(); }
  /// Moves the fit on from where the sweep ended. False where it is no distribution even as the sweep left it.
  [[nodiscard]] bool after_sweep(const SweepResult& swept) {
    if (mixed_ && (swept.mismatch > worse * best_ || swept.skipped > 0)) {
      forget();
      reach_ = std::max(shortest_reach, 0.5 * reach_);
      fit_->unpack(plain_);
      return fit_->begin();
    }
    if (mixed_) reach_ = std::min(longest_reach, 1.2 * reach_);
    best_ = mixed_ ? std::min(best_, swept.mismatch) : swept.mismatch;
    plain_ = fit_->packed();
    const Vector weight = fit_->packed_weights();
    const Vector change = plain_ - before_;
    Vector step = mixing_.next(before_, change, weight, 1.0) - before_;
    const double furthest = reach_ * weight.cwiseProduct(change).norm();
    const double length = weight.cwiseProduct(step).norm();
    if (length > furthest) step *= furthest / length;
    const Vector scales = log_variances();
    fit_->unpack(before_ + step);
    mixed_ = fit_->begin() && (log_variances() - scales).cwiseAbs().maxCoeff() <= furthest_scale;
    if (mixed_) return true;
    forget();
    fit_->unpack(plain_);
    return fit_->begin();
  }
  void forget() {
    mixing_.clear();
    mixed_ = false;
  }

 private:
  [[nodiscard]] Vector log_variances() const {
    Vector out(static_cast<Index>(fit_->log_scales().size()) + 1);
    Index at = 0;
    for (const Normal& phi : fit_->log_scales()) out(at++) = phi.mean;
    out(at) = fit_->noise().mean;
    return out;
  }

  NetworkFit* fit_;
  AndersonMixing mixing_;
  Vector before_, plain_;
  bool mixed_ = false;
  double best_ = 0.0, reach_ = first_reach;
};

std::vector<Index> units_off(const NetworkFit& fit) {
  std::vector<Index> off;
  for (Index k = 1; k <= fit.hidden(); ++k)
    if (fit.is_off(k)) off.push_back(k);
  return off;
}

/// The unit that adds least, if that is less than the noise.
std::optional<Index> weakest_unit(const NetworkFit& fit) {
  std::optional<Index> weakest;
  double least = 1.0;
  for (Index k = 1; k <= fit.hidden(); ++k)
    if (const double share = fit.share_of_noise(k); share < least) {
      least = share;
      weakest = k;
    }
  return weakest;
}

}  // namespace

NetworkRunResult run_network(NetworkFit& fit, const NetworkRunOptions& options,
                             const std::function<Next(const Iteration&)>& tell) {
  NetworkRunResult result;
  result.residual = std::numeric_limits<double>::infinity();
  if (!fit.begin()) {
    result.status = Status::numerical_failure;
    return result;
  }
  const bool linear = fit.hidden() == 0;
  const double later =
      options.damping < NetworkEp{}.damping ? options.damping : std::max(options.damping, later_damping);
  AcceleratedSweeps accelerated(fit);
  int last_loss = 0, last_trial = 0;
  struct Trial {
    NetworkFit::Snapshot with;
    double log_evidence;
  };
  std::optional<Trial> trial;
  double halved = std::numeric_limits<double>::infinity();
  int last_halved = 0;
  for (int sweep = 1; sweep <= options.max_sweeps; ++sweep) {
    const bool quiet = linear ? sweep > quiet_linear && result.residual < quiet_mismatch_linear
                              : !trial && sweep > std::max(careful_sweeps, last_loss + quiet_sweeps) &&
                                    result.residual < quiet_mismatch;
    if (quiet)
      accelerated.before_sweep();
    else
      accelerated.forget();
    const SweepResult swept = fit.sweep(sweep > careful_sweeps || quiet ? later : options.damping);
    result.sweeps = sweep;
    result.residual = swept.mismatch;
    result.skipped += swept.skipped;
    result.shortened += swept.shortened;
    const Iteration iteration{.number = sweep, .residual = swept.mismatch, .step = quiet ? "accelerated" : "sweep"};
    result.history.push_back(iteration);
    if (tell(iteration) != Next::proceed) {
      result.status = trial && !fit.restore(std::move(trial->with)) ? Status::numerical_failure : Status::stopped;
      return result;
    }
    if (!trial && swept.mismatch <= options.tolerance) {
      result.residual = fit.sweep(0.0).mismatch;
      if (result.residual <= options.tolerance) return result;
    }
    if (swept.mismatch < 0.5 * halved) {
      halved = swept.mismatch;
      last_halved = sweep;
    }
    if (options.patience > 0 && sweep - last_halved >= options.patience) break;
    bool good = true;
    if (quiet) good = accelerated.after_sweep(swept);
    if (trial && sweep == last_trial + trial_sweeps) {
      const double without = fit.log_evidence();
      if (without > trial->log_evidence) {
        last_loss = sweep;
        ++result.pruned;
      } else {
        good = good && fit.restore(std::move(trial->with));
      }
      trial.reset();
    } else if (!linear && !trial && !quiet && sweep >= first_pruning && sweep % pruning_every == 0) {
      if (const std::vector<Index> off = units_off(fit); !off.empty()) {
        NetworkFit::Snapshot with = fit.snapshot();
        if (fit.remove(off)) {
          last_loss = sweep;
          result.pruned += static_cast<int>(off.size());
        } else {
          good = fit.restore(std::move(with));
        }
      } else if (const auto weakest = weakest_unit(fit);
                 weakest && (last_trial == 0 || last_loss > last_trial || sweep >= last_trial + trial_every)) {
        trial = Trial{fit.snapshot(), fit.log_evidence()};
        last_trial = sweep;
        if (!fit.remove({*weakest})) {
          good = fit.restore(std::move(trial->with));
          trial.reset();
        }
      }
    }
    if (!good) {
      result.status = Status::numerical_failure;
      return result;
    }
  }
  if (trial && !fit.restore(std::move(trial->with))) {
    result.status = Status::numerical_failure;
    return result;
  }
  result.residual = fit.sweep(0.0).mismatch;
  result.status = Status::iteration_limit;
  return result;
}

}  // namespace gaussmith
