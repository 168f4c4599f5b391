// Double-loop EP, the expectation-consistent free energy
//   F = -log Z_q(sites) - sum 1/share log Z_tilted(surrogate - share sites) + sum 1/share log Z(surrogate)
// in natural parameters, share = power / max(1, weight), Z_tilted unnormalised: min over surrogates of the max over
// sites. Its saddle points are EP's fixed points and there log Z_EP = -F. The inner problem is concave, with barriers
// at improper cavities and indefinite K^-1 + T; at its maximum q and the tilted distributions agree. The outer step
// moves the surrogate towards the marginals of q, which cannot increase F.
//
// The inner problem is climbed site by site: each site's own two-dimensional problem needs only its marginal and its
// tilted moments, meets its own barriers, and the rank-one updates of a sequential sweep carry the change to the rest.

#include "engines/ep_search.hpp"
#include "gaussian/sequential_gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace gaussmith {

namespace {

/// The inner problem is solved to this share of what separates surrogate and q.
constexpr double inner_share = 0.1;
constexpr int most_inner_sweeps = 50;
/// A step is short enough when the slope at its end has not fallen below minus this share of the first one; for a
/// concave function that is an increase.
constexpr double slope_left = 0.5;
constexpr int most_trials = 30;
/// Steps of one site before the next one has its turn.
constexpr int steps_a_site = 2;
/// Outer steps without a gap clearly below the smallest one before the loop is given up.
constexpr int patience = 12;
/// Outer steps in a row whose marginals leave EP itself an improper cavity: then there is no fixed point nearby.
constexpr int most_improper = 20;
/// A free energy lower by this share is progress too.
constexpr double small_gain = 1e-7;
/// Steps of the surrogate grow while they lower the free energy.
constexpr double stride_growth = 1.3;
constexpr double longest_stride = 20.0;
/// A step may take at most this share of what a cavity or a marginal has in precision.
constexpr double largest_loss = 0.8;

/// A one-dimensional Gaussian, or a pair of moments.
struct Moments {
  double mean, variance;
};

/// What one site sees while it climbs: the marginal of q without it, its surrogate, and its parameters.
struct SiteProblem {
  const SiteRows* sites;
  Index row;
  double power;                                 // Of the tilting.
  double share;                                 // Of the site that leaves for the cavity.
  double rest_precision, rest_shift;            // Natural parameters of q without the site.
  double surrogate_precision, surrogate_shift;  // And of the surrogate.

  [[nodiscard]] Moments marginal(double precision, double shift) const {
    const double v = 1.0 / (rest_precision + precision);
    return {v * (rest_shift + shift), v};
  }
  /// Nothing where the cavity or the tilted distribution is not proper.
  [[nodiscard]] std::optional<Moments> tilted(double precision, double shift) const {
    const double cavity = surrogate_precision - share * precision;
    if (!(cavity > 0.0)) return std::nullopt;
    const double mean = (surrogate_shift - share * shift) / cavity;
    if (!std::isfinite(mean) || !std::isfinite(1.0 / cavity)) return std::nullopt;
    const auto t = sites->tilted_row(row, mean, 1.0 / cavity, power);
    if (!(t.variance > 0.0) || !std::isfinite(t.mean) || !std::isfinite(t.variance)) return std::nullopt;
    return Moments{t.mean, t.variance};
  }
};

/// Gradient of the site's problem along (precision, shift) centred at `at`: differences of E(eta - at) and
/// -E(eta - at)^2 / 2 between the tilted distribution and q.
double slope_along(double precision, double centred_shift, const Moments& tilted, const Moments& q, double at) {
  const double move = tilted.mean - q.mean;
  return centred_shift * move -
         0.5 * precision * (tilted.variance - q.variance + move * (tilted.mean + q.mean - 2.0 * at));
}

/// Climbs the site's own problem; false when no step could be made.
bool climb(const SiteProblem& problem, double& precision, double& shift) {
  std::optional<Moments> tilted = problem.tilted(precision, shift);
  if (!tilted) return false;
  for (int round = 0; round < steps_a_site; ++round) {
    const Moments q = problem.marginal(precision, shift);
    // Towards the tilted moments: an ascent direction, because differences of two Gaussians in natural and in mean
    // parameters have a positive inner product.
    const double d_precision = 1.0 / tilted->variance - 1.0 / q.variance;
    const double d_centred = (tilted->mean - q.mean) / tilted->variance;
    const double d_shift = d_centred + d_precision * q.mean;
    const double slope = slope_along(d_precision, d_centred, *tilted, q, q.mean);
    if (!(slope > 0.0)) return round > 0;
    const double room = (problem.surrogate_precision - problem.share * precision) / problem.share;
    double step = 1.0;
    if (d_precision > largest_loss * room) step = largest_loss * room / d_precision;
    if (d_precision < -largest_loss / q.variance) step = -largest_loss / (q.variance * d_precision);
    int trial = 0;
    double end_slope = 0.0;
    for (; trial < most_trials; ++trial) {
      const double next_precision = precision + step * d_precision;
      const double next_shift = shift + step * d_shift;
      const std::optional<Moments> next = problem.tilted(next_precision, next_shift);
      end_slope = next
                      ? slope_along(d_precision, d_centred, *next, problem.marginal(next_precision, next_shift), q.mean)
                      : -10.0 * slope;
      if (end_slope >= -slope_left * slope) {
        precision = next_precision;
        shift = next_shift;
        tilted = next;
        break;
      }
      step *= std::clamp(slope / (slope - end_slope), 0.1, 0.5);
    }
    if (trial == most_trials) return round > 0;
    if (std::abs(end_slope) < 0.1 * slope) break;
  }
  return true;
}

}  // namespace

/// One Gaussian a row that stands for its marginal in the free energy while the sites are climbed.
class EpSearch::Surrogate {
 public:
  /// The marginals of q where they leave the cavities proper, narrower ones elsewhere.
  Surrogate(const EpState& state, const EpMoments& moments)
      : power_(moments.power()),
        share_(state.rows.variance.size()),
        precision_(state.rows.variance.cwiseMax(1e-290).cwiseInverse()) {
    for (Index i = 0; i < precision_.size(); ++i) {
      share_(i) = moments.power_of(i);
      precision_(i) = std::max(precision_(i), share_(i) * state.sites.precision(i) + 0.1 / state.rows.variance(i));
    }
    shift_ = state.rows.mean.cwiseProduct(precision_);
  }

  /// Tilted moments of a state whose cavities are the surrogate's.
  void tilt(const EpMoments& moments, EpState& state) const {
    state.cavity_variance = (precision_ - share_.cwiseProduct(state.sites.precision)).cwiseInverse();
    state.cavity_mean = (shift_ - share_.cwiseProduct(state.sites.shift)).cwiseProduct(state.cavity_variance);
    moments.tilt(state);
  }

  [[nodiscard]] SiteProblem site_problem(const SiteRows& sites, Index row, const Moments& q, double precision,
                                         double shift) const {
    return {&sites,          row,        power_, share_(row), 1.0 / q.variance - precision, q.mean / q.variance - shift,
            precision_(row), shift_(row)};
  }

  /// F at a state tilted here, with the constants of the Gaussian normalisers left out.
  [[nodiscard]] double free_energy(const GaussianCore& core, const EpState& state) const {
    const auto& tau = state.sites.precision.array();
    const auto& m = state.rows.mean.array();
    double sum = (state.sites.shift.array() * m - 0.5 * tau * m.square()).sum() -
                 0.5 * core.inner(state.point, state.point) - core.half_log_det().value;
    for (Index i = 0; i < precision_.size(); ++i) {
      const double cavity = 0.5 * (std::log(state.cavity_variance(i)) +
                                   state.cavity_mean(i) * state.cavity_mean(i) / state.cavity_variance(i));
      const double marginal = 0.5 * (shift_(i) * shift_(i) / precision_(i) - std::log(precision_(i)));
      sum += (state.log_normaliser(i) + cavity - marginal) / share_(i);
    }
    return -sum;
  }

  struct Move {
    double gap = 0.0;  ///< Largest difference between surrogate and q before the move.
    int blocked = 0;   ///< Rows whose cavity allowed less than a tenth of a step.
  };
  /// Every row moves to its marginal of q and, with a stride above one, beyond it; as far as its cavity stays proper.
  Move move_towards(const EpState& q, double stride) {
    Move move;
    for (Index i = 0; i < precision_.size(); ++i) {
      const double m = q.rows.mean(i);
      const double v = q.rows.variance(i);
      const double precision_move = 1.0 / v - precision_(i);
      const double shift_move = m / v - shift_(i);
      const double room = precision_(i) - share_(i) * q.sites.precision(i);
      double share = stride;
      if (share * precision_move < -largest_loss * room) share = -largest_loss * room / precision_move;
      if (share < 0.1) ++move.blocked;
      const double centred = shift_move - precision_move * m;
      move.gap = std::max({move.gap, std::abs(precision_move) * v, std::abs(centred) * std::sqrt(v)});
      precision_(i) += share * precision_move;
      shift_(i) += share * shift_move;
    }
    return move;
  }

 private:
  double power_;
  Vector share_;  // Of a row's site that leaves for its cavity.
  Vector precision_, shift_;
};

namespace {

/// Climbs the problems of all sites in turn; each meets marginals that know of all changes before it.
SiteApproximation climb_sites(const SiteRows& sites, const EpMoments& moments, const EpSearch::Surrogate& surrogate,
                              SequentialGaussian& q, SiteApproximation at) {
  q.sweep_rows(sites.rows(), [&](Index i) {
    if (moments.is_pinned(i) || !(q.variance(i) > 0.0)) return;
    double precision = at.precision(i);
    double shift = at.shift(i);
    if (!climb(surrogate.site_problem(sites, i, {q.mean(i), q.variance(i)}, precision, shift), precision, shift))
      return;
    q.change_site(i, precision - at.precision(i), shift - at.shift(i));
    at.precision(i) = precision;
    at.shift(i) = shift;
  });
  return at;
}

}  // namespace

std::optional<StageEnd> EpSearch::solve_inner(const Surrogate& surrogate, double goal, EpState& inner) {
  surrogate.tilt(moments_, inner);
  for (int sweep = 0; sweep < most_inner_sweeps && inner.mismatch > goal; ++sweep) {
    if (out_of_sweeps()) return out_of_sweeps_reason();
    if (!core_.set(inner.sites)) return StageEnd::not_definite;
    const std::unique_ptr<SequentialGaussian> q = core_.sweep(inner.point);
    if (!q) return StageEnd::no_sweeps;
    SiteApproximation sites = climb_sites(sites_, moments_, surrogate, *q, inner.sites);
    ++report_.iterations;
    if (!moments_.marginals(std::move(sites), inner)) return StageEnd::not_definite;
    surrogate.tilt(moments_, inner);
    tell("double loop, inner");
  }
  return {};
}

StageEnd EpSearch::double_loop(double until, int last_sweep) {
  for (Index i = 0; i < sites_.rows(); ++i)
    if (!moments_.is_pinned(i) && !(now_->rows.variance(i) > 0.0)) return StageEnd::improper_cavity;
  if (!core_.set(now_->sites)) return StageEnd::not_definite;
  Surrogate surrogate(*now_, moments_);
  EpState inner = *now_;
  double gap = 1.0;  // Between surrogate and q, before the last outer step.
  Falling falling(std::numeric_limits<double>::infinity(), patience);
  double last_free_energy = std::numeric_limits<double>::infinity();
  double stride = 1.0;
  int improper = 0;
  while (!converged() && now_->mismatch > until) {
    const double goal = std::max(inner_share * gap, 0.1 * options_.tolerance);
    if (const auto end = solve_inner(surrogate, goal, inner)) return *end;

    // Outer step: longer ones while they keep lowering the free energy.
    const double free_energy = surrogate.free_energy(core_, inner);
    stride = free_energy < last_free_energy ? std::min(stride_growth * stride, longest_stride) : 1.0;
    const bool progress = free_energy < last_free_energy - small_gain * (1.0 + std::abs(free_energy));
    last_free_energy = free_energy;
    const Surrogate::Move move = surrogate.move_towards(inner, stride);
    gap = move.gap;

    auto next = std::make_shared<EpState>(inner);
    moments_.cavities(*next);
    moments_.tilt(*next);
    now_ = std::move(next);
    keep_best();
    tell("double loop");
    improper = now_->improper > 0 ? improper + 1 : 0;
    if (improper > most_improper) return StageEnd::improper_cavity;
    falling.next(gap, progress);
    if (falling.stuck()) return move.blocked > 0 ? StageEnd::improper_cavity : not_falling();
    if (out_of_sweeps()) return out_of_sweeps_reason();
    if (report_.iterations >= last_sweep) return StageEnd::share_spent;
  }
  return converged() ? StageEnd::converged : StageEnd::close;
}

}  // namespace gaussmith
