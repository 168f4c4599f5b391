#include "engines/kl_joint.hpp"

#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "engines/block_mismatch.hpp"
#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/star_sites.hpp"
#include "gaussmith/errors.hpp"
#include "model/site_rows.hpp"
#include "sites/started_expectation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// The full solution is of order N (C - 1); from here on `auto` is content with the structured one.
constexpr Index largest_full_order = 4000;
/// From this order on the full search starts from the structured solution, whose steps cost next to nothing beside its
/// own.
constexpr Index smallest_started_order = 200;
/// Where that one stops on the way to the full one.
constexpr double rough_tolerance = 1e-5;
constexpr int mixing_depth = 12;
/// Where variances are large the blocks answer a change of the covariances by as large a one the other way: half of the
/// way to their rule is a better step than all of it, from the first time that all of it lowers the bound.
constexpr double relaxation = 0.5;
/// Extrapolations in a row that lower the bound before the memory of them is thrown away.
constexpr int most_refusals = 3;
constexpr int max_halvings = 30;
/// Towards their rule stars may not rise at all, and where they do so only in tiny steps nothing is left to gain.
constexpr int max_star_halvings = 4;
constexpr int max_mean_halvings = 8;
/// A bound may fall by this much of its parts before it has fallen.
constexpr double rounding_share = 1e-13;
/// Steps with neither a better residual nor a gain of the bound beyond its last digits: after the first number the
/// memory of the acceleration is thrown away, after the second the search is stalled.
constexpr int idle_steps_to_forget = 10;
constexpr int max_idle_steps = 30;
constexpr double smallest_gain = 1e-11;
/// What averages that all randomisations agree on are good to, for every row.
constexpr double averaged_error = 1e-10;

enum class Structure { full, star };

/// The mean is optimised to this share of the mismatch of the blocks, in so many steps at most.
constexpr double mean_share = 0.1;
constexpr int most_mean_steps = 12;
/// Many classes in few rows make such a step, C^3 operations a row of a slow kind, as dear as a factorisation for
/// stars, C N^3; then there are fewer.
constexpr int least_mean_steps = 4;
constexpr double slowness_of_rows = 30.0;
constexpr int mean_mixing_depth = 4;
/// Rows are solved until what they leave in the gradient is this share of what the mean is solved to; and to this
/// residual, the square of which is lost in the bound.
constexpr double row_share = 0.01;
constexpr double largest_row_residual = 1e-7;

/// Values of all rows under the expectation that the options ask for.
struct Values {
  Vector each, slope, bend;
  double error = 0.0;  ///< Standard error of the sum.
};

/// Where the searches of the rows ended last, and what their derivatives may lack.
struct RowSearches {
  Vector ends;
  double enough = 0.0;
};

Values values_of(const SiteRows& sites, const Kl& options, std::uint64_t seed, const Vector& mean,
                 const Vector& covariance, RowSearches& searches) {
  Values out;
  if (options.expectation == KlExpectation::bound) {
    const Index c = sites.width();
    if (searches.ends.size() == 0) searches.ends = Vector::Zero(mean.size());
    out.each.resize(sites.rows());
    out.slope.resize(mean.size());
    out.bend.resize(covariance.size());
    sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
      const auto piece = [&](auto& all, Index each) {
        return std::span(all.data() + row * each, static_cast<std::size_t>(count * each));
      };
      const ExpectationOut found{piece(out.each, 1), piece(out.slope, c), piece(out.bend, c * c)};
      if (const auto* started = dynamic_cast<const StartedExpectation*>(&block))
        started->expectation_from(begin, piece(mean, c), piece(covariance, c * c),
                                  {piece(searches.ends, c), searches.enough}, found);
      else
        block.expectation(begin, piece(mean, c), piece(covariance, c * c), found);
      sites.weigh(row, found.value);
      sites.weigh(row, found.d_mean, c);
      sites.weigh(row, found.d_variance, c * c);
    });
    return out;
  }
  Vector total;
  sites.averaged_expectation(mean, covariance, seed, &out.each, &out.slope, &out.bend, &total);
  const auto count = static_cast<double>(total.size());
  const double spread = (total.array() - total.mean()).matrix().squaredNorm() / (count * (count - 1.0));
  const double rows = static_cast<double>(out.each.size());
  out.error = std::hypot(std::sqrt(spread), averaged_error * (rows + out.each.cwiseAbs().sum()));
  return out;
}

/// q in the block-site form: the dual a of its mean and the blocks T.
struct BlockPoint {
  Vector dual;
  SiteApproximation sites;  ///< The shifts are those that give the mean.
};

/// What is known of a point: the bound, and the way on.
struct Evaluation {
  LatentPoint mean;
  double bound = -std::numeric_limits<double>::infinity();
  double rounding = 0.0;   ///< What summation, or averaging, leaves uncertain in the bound.
  double error = 0.0;      ///< Standard error of the bound, where it is an average.
  Vector pull;             ///< (I + T K)^-1 (dh/dm - a): Newton's step of the dual.
  SiteApproximation rule;  ///< The blocks that the site rule asks for at this mean and these covariances.
  double residual = std::numeric_limits<double>::infinity();
};

class BoundSearch {
 public:
  BoundSearch(JointCore& core, const SiteRows& sites, const Kl& options, Structure structure, double tolerance,
              std::uint64_t seed, Progress& progress, Report& report)
      : core_(core),
        sites_(sites),
        options_(options),
        structure_(structure),
        tolerance_(tolerance),
        seed_(seed),
        progress_(progress),
        report_(report) {}

  /// Where the prior mean and the prior's covariances lead, or earlier sites.
  void start_cold() {
    const Index c = core_.width();
    BlockPoint point{Vector::Zero(core_.prior_mean().size()), {Vector(), Vector(), c}};
    point.sites.precision =
        -2.0 * values_of(sites_, options_, seed_, core_.prior_mean(), prior_blocks(), searches_).bend;
    start_from(std::move(point));
  }
  void start_from(BlockPoint point) {
    if (structure_ == Structure::star)
      make_stars(point.sites);
    else
      point.sites.star.resize(0);
    point_ = std::move(point);
    if (!evaluate(point_, now_)) throw InvalidModel("kl: " + why_not_factorised(core_));
  }

  /// Climbs to the optimum of the bound.
  void climb() {
    AndersonMixing mixing(mixing_depth);
    double best = std::numeric_limits<double>::infinity();
    double bound = -std::numeric_limits<double>::infinity();
    int idle = 0;
    for (; report_.iterations < options_.max_iterations; ++report_.iterations) {
      const Next next = progress_.tell(
          {report_.iterations, now_.bound, now_.residual, structure_ == Structure::star ? "structured" : "full"});
      if (now_.residual <= tolerance_) return finish(Status::converged, "the site equations hold");
      if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before the optimum was reached");
      const bool gains = now_.bound > bound + smallest_gain * (1.0 + std::abs(now_.bound));
      idle = gains || now_.residual < 0.9 * best ? 0 : idle + 1;
      if (idle % idle_steps_to_forget == idle_steps_to_forget - 1) mixing.clear();
      best = std::min(best, now_.residual);
      bound = now_.bound;
      const bool moved = idle <= max_idle_steps && advance(mixing);
      if (!moved && structure_ == Structure::star && !held_) {
        // Stars that agree with their rule are not quite the best stars: the bound has its say, and the mean its
        // optimum.
        hold();
        mixing.clear();
        best = std::numeric_limits<double>::infinity();
        idle = 0;
      } else if (!moved) {
        return finish(Status::stalled, idle > max_idle_steps
                                           ? "the site equations hold no better after further steps"
                                           : "no step increases the bound any more in double precision");
      }
    }
    finish(Status::iteration_limit,
           fmt::format("no optimum within {} factorisations; raise kl.max_iterations", options_.max_iterations));
  }

  [[nodiscard]] const BlockPoint& point() const { return point_; }
  [[nodiscard]] const Evaluation& now() const { return now_; }
  /// How far held stars are from their rule; 0 where they agree with it.
  [[nodiscard]] double left_of_stars() const { return left_; }
  /// Makes the core agree with the last point.
  void settle() { core_.restore(point_.sites); }

 private:
  [[nodiscard]] Vector prior_blocks() const {
    const Index c = core_.width();
    const Vector variance = core_.prior_variances();
    const Matrix& k = core_.prior().latent_covariance();
    Vector blocks(variance.size() * c);
    for (Index n = 0; n < core_.rows(); ++n)
      for (Index j = 0; j < c; ++j)
        for (Index i = 0; i < c; ++i)
          blocks(n * c * c + j * c + i) = i == j
                                              ? variance(n * c + i)
                                              : (k(i, j) == 0.0 ? 0.0
                                                                : k(i, j) * std::sqrt(variance(n * c + i) / k(i, i)) *
                                                                      std::sqrt(variance(n * c + j) / k(j, j)));
    return blocks;
  }

  /// log Z_h = sum h(m, V) - KL(q, prior), KL = 1/2 log|I + K T| - 1/2 tr(T V) + 1/2 a'K a, at the best mean for the
  /// covariances of these blocks.
  [[nodiscard]] bool evaluate(BlockPoint& point, Evaluation& out) {
    out = {};
    point.sites.shift = Vector::Zero(point.dual.size());
    if (!core_.set(point.sites)) return false;
    const RowMarginals q = core_.marginals(core_.centre());
    const auto goal = [&](double mismatch) { return std::max(0.5 * tolerance_, mean_share * std::min(1.0, mismatch)); };
    // The first point may be the optimum already, and is to be known as such.
    searches_.enough =
        std::isfinite(now_.residual)
            ? std::min(largest_row_residual, row_share * goal(now_.residual) / std::sqrt(q.variance.sum()))
            : 0.0;
    MeanPoint mean = mean_at(point.dual, q.covariance);
    if (!std::isfinite(mean.objective)) return false;
    double mismatch = find_rule(point.sites, mean, q, out.rule);
    AndersonMixing mixing(mean_mixing_depth);
    const Vector deviation = q.variance.cwiseSqrt();
    const int most = mean_steps();
    for (int step = 0; step < most; ++step) {
      if (mean.residual <= goal(mismatch) || !raise(mean, q.covariance, deviation, mixing)) break;
      mismatch = find_rule(point.sites, mean, q, out.rule);
    }
    const double determinant = core_.half_log_det().value;
    const double trace = 0.5 * point.sites.precision.dot(q.covariance);
    out.bound = mean.objective - determinant + trace;
    if (!std::isfinite(out.bound)) return false;
    out.error = mean.values.error;
    out.rounding = rounding_share *
                       (mean.values.each.cwiseAbs().sum() + std::abs(determinant) + trace + std::abs(mean.objective)) +
                   out.error;
    out.residual = std::max(mean.residual, mismatch);
    out.mean = std::move(mean.at);
    out.pull = std::move(mean.pull);
    point.dual = out.mean.coordinates;
    point.sites.shift = point.dual + precision_times(point.sites, out.mean.eta);
    return core_.set(point.sites);
  }

  /// How many steps of the mean a factorisation is worth at most.
  [[nodiscard]] int mean_steps() const {
    if (structure_ != Structure::star || held_) return most_mean_steps;
    const double rows_a_class = static_cast<double>(core_.rows()) / static_cast<double>(core_.width());
    return static_cast<int>(
        std::clamp(rows_a_class * rows_a_class / slowness_of_rows, double{least_mean_steps}, double{most_mean_steps}));
  }

  /// A mean under fixed covariances, whose factor is the core's.
  struct MeanPoint {
    LatentPoint at;
    Values values;
    double objective;  ///< sum h - 1/2 a'K a.
    Vector pull;       ///< (I + T K)^-1 (dh/dm - a): Newton's step of the dual with T for the sites' curvature.
    double residual;   ///< Gradient norm in standard deviations of q.
  };
  [[nodiscard]] MeanPoint mean_at(Vector dual, const Vector& covariance) const {
    MeanPoint out{core_.point(std::move(dual)), {}, 0.0, {}, 0.0};
    out.values = values_of(sites_, options_, seed_, out.at.eta, covariance, searches_);
    out.objective = out.values.each.sum() - 0.5 * core_.inner(out.at, out.at);
    const Vector force = out.values.slope - out.at.coordinates;
    out.pull = core_.dual_of(force);
    out.residual = std::sqrt(std::max(0.0, force.dot(core_.point(out.pull).eta - core_.prior_mean())));
    return out;
  }
  /// A step that raises the objective, or shrinks the gradient where that drowns in rounding; false if there is none.
  [[nodiscard]] bool raise(MeanPoint& mean, const Vector& covariance, const Vector& deviation,
                           AndersonMixing& mixing) const {
    const double rounding =
        rounding_share * (mean.values.each.cwiseAbs().sum() + std::abs(mean.objective)) + mean.values.error;
    const auto take = [&](Vector dual) {
      MeanPoint next = mean_at(std::move(dual), covariance);
      const bool better = next.objective > mean.objective + rounding ||
                          (next.objective > mean.objective - rounding && next.residual < mean.residual);
      if (better) mean = std::move(next);
      return better;
    };
    if (take(mixing.next(mean.at.coordinates, mean.pull, deviation, 1.0))) return true;
    mixing.clear();
    double length = 1.0;
    for (int halving = 0; halving < max_mean_halvings; ++halving, length *= 0.5)
      if (take(mean.at.coordinates + length * mean.pull)) return true;
    return false;
  }
  /// The blocks that the site rule asks for, and how far the sites are from them.
  [[nodiscard]] double find_rule(const SiteApproximation& sites, const MeanPoint& mean, const RowMarginals& q,
                                 SiteApproximation& rule) const {
    if (held_) {
      rule = sites;
      return 0.0;
    }
    rule = {-2.0 * mean.values.bend, Vector(), core_.width()};
    if (structure_ == Structure::star) make_stars(rule);
    return block_mismatch(core_, q, rule.precision);
  }

  /// The unknowns of the fixed point iteration: the dual, and the blocks or their stars.
  [[nodiscard]] const Vector& unknowns(const SiteApproximation& sites) const {
    return structure_ == Structure::star ? sites.star : sites.precision;
  }
  [[nodiscard]] BlockPoint unpack(const Vector& x) const {
    const Index size = point_.dual.size();
    BlockPoint point{x.head(size), {Vector(), Vector(), core_.width()}};
    if (structure_ == Structure::star) {
      point.sites.star = x.tail(x.size() - size).cwiseMax(0.0);
      set_star_blocks(point.sites);
    } else {
      point.sites.precision = x.tail(x.size() - size);
    }
    return point;
  }

  /// From here on the covariance stays as it is.
  void hold() {
    held_ = true;
    left_ = now_.residual;
    BlockPoint same = point_;
    if (!evaluate(same, now_)) settle();
  }

  bool take(const Vector& x) {
    BlockPoint point = unpack(x);
    Evaluation found;
    if (!evaluate(point, found) || found.bound < now_.bound - found.rounding) return false;
    point_ = std::move(point);
    now_ = std::move(found);
    return true;
  }

  /// One step that does not lower the bound: accelerated, then plain ones, ever shorter.
  bool advance(AndersonMixing& mixing) {
    const Vector& t = unknowns(point_.sites);
    const Vector& wanted = unknowns(now_.rule);
    Vector x(point_.dual.size() + t.size());
    x << point_.dual, t;
    Vector f(x.size());
    f << now_.pull, wanted - t;
    const RowMarginals q = core_.marginals(now_.mean);
    Vector weight(x.size());
    weight << q.variance.cwiseSqrt(), (structure_ == Structure::star ? q.variance : block_sizes(q.variance));
    if (take(mixing.next(x, f, weight, share_))) {
      refused_ = 0;
      return true;
    }
    // What has been seen is worth keeping unless it misleads time and again.
    if (++refused_ >= most_refusals) {
      mixing.clear();
      refused_ = 0;
    }
    double length = share_;
    const int most = structure_ == Structure::star ? max_star_halvings : max_halvings;
    for (int halving = 0; halving < most; ++halving, length *= 0.5)
      if (take(x + length * f)) {
        if (halving > 0) share_ = relaxation;
        return true;
      }
    settle();
    return false;
  }

  [[nodiscard]] Vector block_sizes(const Vector& variance) const {
    const Index c = core_.width();
    Vector out(variance.size() * c);
    for (Index n = 0; n < core_.rows(); ++n) {
      const Vector sd = variance.segment(n * c, c).cwiseSqrt();
      Eigen::Map<Matrix>(out.data() + n * c * c, c, c) = sd * sd.transpose();
    }
    return out;
  }

  void finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
    report_.residual = now_.residual;
  }

  JointCore& core_;
  const SiteRows& sites_;
  const Kl& options_;
  Structure structure_;
  double tolerance_;
  std::uint64_t seed_;
  Progress& progress_;
  Report& report_;
  BlockPoint point_;
  Evaluation now_;
  bool held_ = false;
  int refused_ = 0;
  mutable RowSearches searches_;  // Speeds rows up, and changes no more than their last digits.
  double share_ = 1.0;            // Of the way to the rule that a step goes.
  double left_ = 0.0;
};

Structure choose_structure(const Kl& options, const Model& model, Report& report) {
  if (options.covariance == "full") return Structure::full;
  const bool independent = has_independent_functions(model.latents);
  const Index order = model.rows() * (model.latents.count - 1);
  if (options.covariance == structured_covariance) {
    if (!independent)
      throw InvalidOption(
          "kl.covariance = structured needs independent functions (latent_covariance identity or diagonal, or "
          "kernels); use full");
    // Blocks of two classes are stars as they are.
    return model.latents.count > 2 ? Structure::star : Structure::full;
  }
  if (options.covariance != "auto")
    throw InvalidOption(fmt::format("kl.covariance = {} is for one latent a row; several take auto, full or structured",
                                    options.covariance));
  if (order <= largest_full_order || !independent || is_known_by_root(model.prior, model.rows()))
    return Structure::full;
  report.notes.push_back(
      fmt::format("structured covariance: the full one is of order {}, more than {}", order, largest_full_order));
  return Structure::star;
}

}  // namespace

void run_kl_joint(const Kl& options, const Run& run, Posterior::State& state) {
  Report& report = state.report;
  report.tolerance = options.tolerance;
  const Structure structure = choose_structure(options, state.model, report);
  const std::shared_ptr<JointCore> core =
      build_joint_core(run, structure == Structure::star ? SitesSee::stars : SitesSee::contrasts, state);
  const SiteRows sites(state.model, state.threads);
  Progress progress(run.progress, &report.history);

  BlockPoint start;
  const SiteApproximation* warm = run.warm_start != nullptr ? &run.warm_start->site_approximation() : nullptr;
  if (warm != nullptr && warm->rows() == core->rows() && warm->width == core->width()) {
    // The dual, a = nu - T m, carries over to another prior; the mean that the sites have there may be far away.
    start = {warm->shift - precision_times(*warm, run.warm_start->latent().mean), *warm};
  } else if (structure == Structure::full && core->prior().is_independent() && !core->prior().has_root() &&
             core->rows() * (core->width() - 1) >= smallest_started_order) {
    BoundSearch rough(*core, sites, options, Structure::star, std::max(rough_tolerance, options.tolerance), run.seed,
                      progress, report);
    rough.start_cold();
    rough.climb();
    start = rough.point();
    report.notes.push_back(fmt::format("started from the structured covariance, {} steps", report.iterations));
  }

  BoundSearch search(*core, sites, options, structure, options.tolerance, run.seed, progress, report);
  if (start.dual.size() > 0)
    search.start_from(std::move(start));
  else
    search.start_cold();
  search.climb();
  search.settle();
  const LatentPoint mean = search.now().mean;
  const bool averaged = options.expectation == KlExpectation::quadrature;
  const EvidenceKind kind = averaged ? EvidenceKind::estimate : EvidenceKind::lower_bound;
  end_in_site_form(*core, sites, {mean, search.now().bound, {kind, false}, true, true}, state);
  if (averaged) state.log_evidence.standard_error = search.now().error;
  if (structure == Structure::star)
    report.notes.push_back(fmt::format(
        "structured covariance: the gradient leaves out that the covariance is not quite the best, and is "
        "approximate{}",
        search.left_of_stars() > options.tolerance
            ? fmt::format("; stars are held {:.1g} from their rule, where the bound is higher", search.left_of_stars())
            : std::string()));
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, [](const SiteBlock&, Index, int) { return 0.0; });
  };
}

}  // namespace gaussmith
