#include "engines/kl_full.hpp"

#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "engines/duality_gap.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// An accepted step gains this share of what its slope promises.
constexpr double sufficient_increase = 1e-4;
/// Below this share of the bound a predicted gain drowns in rounding, and steps are judged by the residual. Sites that
/// are strong beside a wide prior, tau K >> 1, leave more: the condition number times the rounding unit.
constexpr double rounding_gain = 1e-12;
/// Expectations by quadrature are promised to this, and a value that came out too high would keep all others away:
/// within it a step that halves the residual is taken.
constexpr double expectation_error = 1e-9;
/// Such steps that do not halve the residual before the engine says it is stalled.
constexpr int most_idle_steps = 20;
constexpr double shortest_step = 1e-8;
/// Squared residuals beyond this multiple of the gap wanted are too far away.
constexpr double hopeless = 40.0;
constexpr int memory = 8;
/// Accelerated steps to try, each knowing the ones rejected before, until plain natural gradient steps are shortened.
constexpr int most_accelerated = 3;
/// How far in log tau acceleration may go beyond both ends of a plain step. The other sites can gain more than one such
/// precision costs, and from e^30 too much there are only halvings back.
constexpr double largest_overshoot = 3.0;
/// The mean is optimised to this share of the mismatch of the precisions, which it would otherwise blur.
constexpr double mean_share = 0.02;
constexpr int most_mean_steps = 30;
/// How often the goal for the mean is set anew within one factorisation.
constexpr int most_mean_rounds = 4;
/// Moves below this part of a standard deviation tell rounding only.
constexpr double least_move = 1e-6;
constexpr double most_blur = 1e3;
/// From this blur on the mean follows the variances far enough that it is worth two more passes over the sites to say
/// where it goes; derivatives by differences over this part of a standard deviation.
constexpr double strong_coupling = 2.0;
constexpr double difference_step = 1e-3;
/// Bisections of log v in the independent start: a factor 1e16 down to one of 1.3.
constexpr int start_bisections = 7;
constexpr double start_range = 1e16;

class KlAscent {
 public:
  KlAscent(GaussianCore& core, const SiteRows& sites, const ClimbOptions& options, const Run& run, Report& report)
      : core_(core),
        sites_(sites),
        options_(options),
        report_(report),
        progress_(run.progress, &report.history),
        every_gap_(run.every_gap),
        anderson_(memory),
        prior_(core.prior_variances()),
        cheap_(core.factorises_cheaply()) {}

  KlPoint climb(const KlStart& start) {
    core_.restore({start.precision, Vector::Zero(core_.rows())});
    now_ = optimise_mean(start.precision, start.mean);
    while (proceed()) advance();
    if (report_.duality_gap) report_.duality_gap_rows = worst_rows(gap_.rows());
    // Shifts beyond the range of doubles leave the precisions, and a mean that is what it is.
    if (!core_.set(now_.sites())) core_.restore({now_.precision, Vector::Zero(core_.rows())});
    return std::move(now_);
  }

 private:
  [[nodiscard]] double rounding_of(const Vector& precision) const {
    if (!core_.geometry().has_gaussian()) return rounding_gain;
    return std::max(rounding_gain, std::numeric_limits<double>::epsilon() * precision.cwiseProduct(prior_).maxCoeff());
  }

  /// The point with these precisions, which are the core's, and the best mean for them.
  KlPoint optimise_mean(const Vector& precision, const LatentPoint& mean) {
    ++report_.iterations;
    KlPoint next;
    next.precision = precision;
    next.variance = core_.variances();
    next.mean = smoothed_point(core_, sites_, next.variance, mean);
    if (now_.variance.size() > 0 && blur_ > strong_coupling) predict_mean(next);
    const auto mismatch = [&] {
      return (next.precision + 2.0 * next.mean.d_variance).cwiseAbs().cwiseProduct(next.variance).maxCoeff();
    };
    const double rounding = rounding_of(precision);
    const double half_log_det = core_.half_log_det().value;
    const SmoothedPoint before = next.mean;
    for (int round = 0; round < most_mean_rounds; ++round) {
      const double share = std::max(0.5 * options_.tolerance, mean_share * std::min(1.0, mismatch()));
      climb_mean(core_, sites_, precision, next.variance, {share / blur_, most_mean_steps, rounding, cheap_},
                 next.mean);
      const double last = std::exchange(blur_, blur_between(before, next));
      if (blur_ <= 2.0 * last) break;
    }
    next.bound = next.mean.objective - half_log_det + core_.half_trace(precision, next.variance);
    next.residual = std::max(next.mean.residual, mismatch());
    return next;
  }

  /// The mean for the new variances to first order, from the gradient that they should leave at the last one: it
  /// changes by (d2e/dm dv) dv, while e^(m + v/2) itself may have left all bounds. Taken if it is the better start.
  void predict_mean(KlPoint& next) const {
    const Vector step = difference_step * now_.variance.cwiseSqrt();
    Vector moved;
    sites_.expectation(now_.mean.at.eta + step, now_.variance, nullptr, nullptr, &moved);
    const Vector mixed = (moved - now_.mean.d_variance).cwiseQuotient(step);
    const Vector gradient = now_.mean.d_mean + mixed.cwiseProduct(next.variance - now_.variance);
    SmoothedPoint predicted = smoothed_point(core_, sites_, next.variance,
                                             core_.mean(gradient + next.precision.cwiseProduct(now_.mean.at.eta)));
    if (predicted.objective > next.mean.objective) next.mean = std::move(predicted);
  }

  /// How much of a mismatch an error of the mean makes, both in standard deviations: 2 |d2e/dm dv| v^3/2, at least one.
  /// It is large for e^eta where v is. Seen on the way from one mean to another, and remembered in part.
  [[nodiscard]] double blur_between(const SmoothedPoint& from, const KlPoint& to) const {
    double blur = std::max(1.0, 0.5 * blur_);
    if (!(to.mean.residual < 1.0)) return blur;
    for (Index n = 0; n < to.variance.size(); ++n) {
      const double v = to.variance(n);
      const double moved = std::abs(to.mean.at.eta(n) - from.at.eta(n)) / std::sqrt(v);
      const double changed = 2.0 * v * std::abs(to.mean.d_variance(n) - from.d_variance(n));
      if (moved > least_move && changed > blur * moved) blur = changed / moved;
    }
    return std::min(blur, most_blur);
  }

  /// Records the point; false when the search is over.
  bool proceed() {
    report_.residual = now_.residual;
    const bool wanted =
        every_gap_ || stalled_ || now_.residual <= options_.tolerance || report_.iterations >= options_.max_iterations;
    if (wanted)
      certify();
    else if (may_end_by_gap())
      certify(*options_.gap_goal);
    const Next next = progress_.tell({report_.iterations, now_.bound, now_.residual, kind_, report_.duality_gap});
    const bool near_enough = options_.gap_goal && report_.duality_gap && *report_.duality_gap <= *options_.gap_goal;
    if (near_enough || now_.residual <= options_.tolerance) {
      report_.local_optimum = !sites_.all(&SiteTraits::log_concave);
      return finish(Status::converged, how());
    }
    if (next == Next::accept) {
      if (!wanted) certify();
      report_.history.back().duality_gap = report_.duality_gap;
      return finish(Status::stopped, "stopped by the caller before the bound's optimum");
    }
    if (stalled_) return finish(Status::stalled, "no step increases the bound any more in double precision");
    if (report_.iterations >= options_.max_iterations)
      return finish(Status::iteration_limit,
                    core_.geometry().has_gaussian()
                        ? fmt::format("no optimum within {} factorisations; raise {}.max_iterations",
                                      options_.max_iterations, options_.method)
                        : fmt::format("no optimum within {} factorisations; without a Gaussian factor the bound may "
                                      "grow without end (are the classes separable?)",
                                      options_.max_iterations));
    return true;
  }

  void certify(double most = std::numeric_limits<double>::infinity()) {
    if (!options_.gap) return;
    // Where nothing was accepted the core is elsewhere.
    if (stalled_) core_.restore({now_.precision, Vector::Zero(core_.rows())});
    report_.duality_gap = gap_.add(core_, sites_, now_, most);
  }

  /// Far from the optimum rows that are wide beside their site attain their conjugates far away, and a gap costs more
  /// than a step. A precision that is off by a share r costs about r^2/4 nats.
  [[nodiscard]] bool may_end_by_gap() const {
    return options_.gap_goal && now_.residual * now_.residual <= hopeless * *options_.gap_goal;
  }

  void advance() {
    const Vector mismatch = mismatch_of(now_);
    for (int attempt = 0; attempt < most_accelerated && length_ == 1.0; ++attempt)
      if (try_step(accelerate(), mismatch, "accelerated")) return;
    ++shortened_;
    for (length_ *= 0.5; length_ >= shortest_step; length_ *= 0.5) {
      if (try_step(now_.precision + length_ * mismatch, mismatch, "natural gradient")) {
        length_ = std::min(1.0, 4.0 * length_);
        return;
      }
      if (report_.iterations >= options_.max_iterations) return;
    }
    stalled_ = true;
  }

  [[nodiscard]] static Vector mismatch_of(const KlPoint& point) {
    return -2.0 * point.mean.d_variance - point.precision;
  }

  // Acceleration works in logarithms where all precisions are positive: a site such as Poisson's, tau = e^(m + v/2), is
  // linear in them.
  [[nodiscard]] static bool positive(const KlPoint& point) {
    return (point.precision.array() > 0.0).all() && (point.mean.d_variance.array() < 0.0).all();
  }
  [[nodiscard]] static std::pair<Vector, Vector> logarithmic_pair(const KlPoint& point) {
    const Vector logarithm = point.precision.array().log();
    return {logarithm, (-2.0 * point.mean.d_variance.array()).log().matrix() - logarithm};
  }

  void remember(const KlPoint& point) {
    if (!logarithmic_) {
      anderson_.remember(point.precision, mismatch_of(point));
    } else if (positive(point)) {
      const auto [x, f] = logarithmic_pair(point);
      anderson_.remember(x, f);
    }
  }

  [[nodiscard]] Vector accelerate() {
    if (const bool now = positive(now_); now != logarithmic_) {
      anderson_.clear();
      logarithmic_ = now;
    }
    if (!logarithmic_) return anderson_.propose(now_.precision, mismatch_of(now_), now_.variance, 1.0);
    const auto [x, f] = logarithmic_pair(now_);
    const Vector proposed = anderson_.propose(x, f, now_.precision.cwiseProduct(now_.variance), 1.0);
    const Vector highest = x.cwiseMax(x + f).array() + largest_overshoot;
    return proposed.cwiseMin(highest).array().exp();
  }

  /// Natural gradient ascent in the precisions: along dtau the bound changes by 1/2 mismatch'(V o V) dtau, and
  /// (V o V) dtau is to first order the fall of v.
  bool try_step(const Vector& precision, const Vector& mismatch, std::string_view kind) {
    if (report_.iterations >= options_.max_iterations) return false;
    if (!core_.set({precision, Vector::Zero(core_.rows())})) {
      ++report_.iterations;
      return false;
    }
    KlPoint next = optimise_mean(precision, now_.mean.at);
    if (!std::isfinite(next.bound)) return false;
    const double predicted = std::max(0.0, 0.5 * mismatch.dot(now_.variance - next.variance));
    // Of the point that is left: a proposal with a precision out of all proportion must not excuse its own bound. Of
    // the bound's parts, which round as they are even where their sum is near zero.
    const double slack = rounding_of(now_.precision) * (1.0 + std::abs(now_.mean.objective) + std::abs(now_.bound));
    const bool gains = next.bound >= now_.bound + sufficient_increase * predicted - slack;
    const bool settles = next.residual < 0.5 * now_.residual &&
                         next.bound >= now_.bound - expectation_error * (1.0 + std::abs(now_.mean.objective));
    if (!gains && !settles) {
      remember(next);
      return false;
    }
    remember(now_);
    if (std::abs(next.bound - now_.bound) <= slack) {
      idle_steps_ = next.residual < 0.5 * best_residual_ ? 0 : idle_steps_ + 1;
      if (idle_steps_ > most_idle_steps) stalled_ = true;
    }
    best_residual_ = std::min(best_residual_, next.residual);
    now_ = std::move(next);
    kind_ = kind;
    return true;
  }

  [[nodiscard]] std::string how() const {
    std::string text = report_.local_optimum ? "a local optimum of the bound" : "the optimum of the bound";
    if (now_.residual > options_.tolerance)
      text = fmt::format("within {:.1e} nats of the optimum of the bound", *report_.duality_gap);
    if (shortened_ > 0) text += fmt::format(", {} step{} shortened", shortened_, shortened_ == 1 ? "" : "s");
    return text;
  }

  bool finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
    return false;
  }

  GaussianCore& core_;
  const SiteRows& sites_;
  const ClimbOptions& options_;
  Report& report_;
  Progress progress_;
  bool every_gap_;
  AndersonMixing anderson_;
  Vector prior_;
  bool cheap_;  // Whether the mean is climbed by factorising.
  KlPoint now_;
  GapRecord gap_;
  double blur_ = 1.0;
  std::string_view kind_ = "start";
  double length_ = 1.0;
  double best_residual_ = std::numeric_limits<double>::infinity();
  int idle_steps_ = 0, shortened_ = 0;
  bool stalled_ = false, logarithmic_ = false;
};

}  // namespace

std::optional<double> GapRecord::add(const GaussianCore& core, const SiteRows& sites, const KlPoint& point,
                                     double most) {
  DualityGap here = duality_gap(core, sites, point, most);
  if (std::isfinite(here.value)) {
    upper_ = std::min(upper_.value_or(here.value + point.bound), here.value + point.bound);
    rows_ = std::move(here.rows);
  }
  if (!upper_) return {};
  return std::max(0.0, std::min(here.value, *upper_ - point.bound));
}

KlStart independent_start(const GaussianCore& core, const SiteRows& sites, LatentPoint mean) {
  const Vector prior = core.prior_variances().cwiseMin(widest_variance);
  Vector high = prior;
  Vector low = prior / start_range;
  Vector d_variance;
  Vector middle;
  for (int i = 0; i < start_bisections; ++i) {
    middle = (low.array() * high.array()).sqrt();
    sites.expectation(mean.eta, middle, nullptr, nullptr, &d_variance);
    for (Index n = 0; n < prior.size(); ++n) {
      const double excess = middle(n) / prior(n) - 2.0 * d_variance(n) * middle(n) - 1.0;
      (excess > 0.0 ? high : low)(n) = middle(n);
    }
  }
  sites.expectation(mean.eta, high, nullptr, nullptr, &d_variance);
  return {(-2.0 * d_variance).cwiseMax(0.0).cwiseMin(high.cwiseInverse()), std::move(mean)};
}

KlPoint climb_kl(GaussianCore& core, const SiteRows& sites, const ClimbOptions& options, const Run& run,
                 const KlStart& start, Report& report) {
  return KlAscent(core, sites, options, run, report).climb(start);
}

}  // namespace gaussmith
