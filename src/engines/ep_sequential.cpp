// Sequential EP: each site meets marginals that know of all changes before it.

#include "engines/ep_search.hpp"
#include "gaussian/sequential_gaussian.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr int patience = 12;
/// A site may take away at most this share of the precision of its marginal in one update.
constexpr double largest_loss = 0.9;

}  // namespace

StageEnd EpSearch::sequential(double damping) {
  Falling mismatch(now_->mismatch, static_cast<int>(patience / std::max(damping, 0.1)));
  while (!converged()) {
    if (out_of_sweeps()) return out_of_sweeps_reason();
    if (!core_.set(now_->sites)) return StageEnd::not_definite;
    SiteApproximation sites = now_->sites;
    const std::unique_ptr<SequentialGaussian> sweep = core_.sweep(now_->point);
    if (!sweep) return StageEnd::no_sweeps;
    SequentialGaussian& q = *sweep;
    q.sweep_rows(sites_.rows(), [&](Index i) {
      const double m = q.mean(i);
      const double v = q.variance(i);
      if (moments_.is_pinned(i)) return;
      const double power = moments_.power_of(i);
      const double cavity_precision = v > 0.0 ? 1.0 / v - power * sites.precision(i) : 0.0;
      if (!(cavity_precision > 0.0)) {
        ++report_.skipped;
        return;
      }
      const double cavity_mean = (m / v - power * sites.shift(i)) / cavity_precision;
      const SiteRows::Tilted tilted = sites_.tilted_row(i, cavity_mean, 1.0 / cavity_precision, moments_.power());
      if (!(tilted.variance > 0.0) || !std::isfinite(tilted.mean)) {
        ++report_.skipped;
        return;
      }
      double share = damping / power;
      const double change = 1.0 / tilted.variance - 1.0 / v;
      // 1 + change v > 0 keeps q proper.
      if (share * change * v < -largest_loss) share = -largest_loss / (change * v);
      const double precision_change = share * change;
      const double shift_change = share * (tilted.mean / tilted.variance - m / v);
      sites.precision(i) += precision_change;
      sites.shift(i) += shift_change;
      q.change_site(i, precision_change, shift_change);
    });
    const Visit outcome = visit(std::move(sites), damping < 1.0 ? "sequential, damped" : "sequential");
    if (outcome == Visit::indefinite) return StageEnd::not_definite;
    mismatch.next(now_->mismatch);
    if (mismatch.stuck()) return outcome == Visit::improper ? StageEnd::improper_cavity : not_falling();
  }
  return StageEnd::converged;
}

}  // namespace gaussmith
