// Parallel EP: one factorisation and one pass of tilted moments a sweep.

#include "engines/anderson.hpp"
#include "engines/ep_search.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr int anderson_depth = 6;
/// Each pair of the past takes four numbers a row; beyond this many rows memory counts for more than a sweep.
constexpr Index many_rows = 100'000;
constexpr int depth_for_many_rows = 2;
/// Sweeps without a mismatch clearly below the best one before the stage ends, at full damping.
constexpr int patience = 8;
/// A sweep that multiplies the mismatch by this was extrapolated too far.
constexpr double too_far = 3.0;
/// Halvings of a step that leaves the proper region: few while undamped, because damping is the next stage's business.
constexpr int few_halvings = 3;
constexpr int most_halvings = 8;

Vector joined(const Vector& a, const Vector& b) {
  Vector out(a.size() + b.size());
  out << a, b;
  return out;
}

}  // namespace

StageEnd EpSearch::parallel(double damping) {
  const std::string_view kind = damping < 1.0 ? "parallel, damped" : "parallel";
  const Index n = sites_.rows();
  AndersonMixing mixing(n > many_rows ? depth_for_many_rows : anderson_depth);
  Falling mismatch(now_->mismatch, static_cast<int>(patience / std::max(damping, 0.1)));
  while (!converged()) {
    if (out_of_sweeps()) return out_of_sweeps_reason();
    const SiteApproximation start = now_->sites;
    const double before = now_->mismatch;
    const SiteApproximation target = moments_.targets(*now_);
    const Vector next = mixing.next(joined(start.precision, start.shift),
                                    joined(target.precision - start.precision, target.shift - start.shift),
                                    joined(now_->rows.variance, now_->rows.variance.cwiseSqrt()), damping);
    Visit outcome = visit({next.head(n), next.tail(n)}, kind);
    if (outcome != Visit::proper || now_->mismatch > too_far * before) mixing.clear();
    // Shorter steps of the plain iteration until the Gaussian and its cavities are proper.
    double share = damping;
    for (int halving = 0; outcome != Visit::proper && halving < (damping < 1.0 ? most_halvings : few_halvings);
         ++halving, share *= 0.5) {
      if (out_of_sweeps()) return out_of_sweeps_reason();
      outcome = visit(between(start, target, share), kind);
    }
    if (outcome == Visit::improper) return StageEnd::improper_cavity;
    if (outcome == Visit::indefinite) return StageEnd::not_definite;
    mismatch.next(now_->mismatch);
    // Where rounding hides the rest, waiting longer is no use.
    if (mismatch.stuck() || (mismatch.idle() > 0 && best_->mismatch <= rounding())) return not_falling();
  }
  return StageEnd::converged;
}

}  // namespace gaussmith
