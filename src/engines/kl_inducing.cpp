#include "engines/kl_inducing.hpp"

#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/kl_joint.hpp"
#include "gaussian/joint_inducing_core.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/inverse_of_factor.hpp"
#include "model/site_rows.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr int mixing_depth = 12;
/// Extrapolations in a row that lower the bound before the memory of them is thrown away.
constexpr int most_refusals = 3;
constexpr int max_halvings = 30;
/// A bound may fall by this much of its parts before it has fallen; near the optimum, where it is flat and the site
/// equations come closer, by more.
constexpr double rounding_share = 1e-13;
constexpr double flat_share = 1e-10;
constexpr double flat_residual = 1e-3;
/// Steps with neither a better residual nor a gain of the bound beyond its last digits before the search is stalled.
constexpr int max_idle_steps = 30;
constexpr double smallest_gain = 1e-11;

/// q(u) = N(mean, (I + P)^-1): whatever the number of rows, the unknowns are those of the inducing variables.
struct ValuePoint {
  Vector mean;
  Matrix gain;  ///< P, lower triangle.
};

/// What is known of a point: the bound, and the way on.
struct Evaluation {
  double bound = -std::numeric_limits<double>::infinity();
  double rounding = 0.0;  ///< What summation leaves uncertain in the bound.
  Vector spread;          ///< The standard deviations of u.
  Vector pull;            ///< Sigma (A'dh/dm - u), Newton's step of the mean.
  Matrix gain;            ///< A'T A for the blocks T that the site rule asks for.
  Vector slope;           ///< dh/dm.
  Vector precision;       ///< T.
  Vector eta;
  double residual = std::numeric_limits<double>::infinity();
};

class ValueSearch {
 public:
  ValueSearch(const JointInducingCore& core, const SiteRows& sites, const Kl& options, Progress& progress,
              Report& report)
      : core_(core),
        inducing_(core.inducing()),
        rows_(core.seen_rows()),
        sites_(sites),
        options_(options),
        progress_(progress),
        report_(report) {}

  /// Where the prior leads.
  void start_cold() {
    Vector slope;
    sites_.expectation(core_.prior_mean(), inducing_.prior_blocks(rows_.variance), nullptr, nullptr, &slope);
    start_from(Vector::Zero(inducing_.rank()), -2.0 * slope);
  }
  /// From a mean and blocks of sites.
  void start_from(Vector mean, const Vector& precision) {
    point_ = {std::move(mean), inducing_.gram(rows_, precision)};
    if (!evaluate(point_, now_)) throw InvalidModel("kl: " + why_not_factorised(core_));
  }

  /// Climbs to the optimum of the bound.
  void climb() {
    AndersonMixing mixing(mixing_depth);
    double best = std::numeric_limits<double>::infinity();
    double bound = -std::numeric_limits<double>::infinity();
    int idle = 0;
    for (; report_.iterations < options_.max_iterations; ++report_.iterations) {
      const Next next = progress_.tell({report_.iterations, now_.bound, now_.residual, "inducing"});
      if (now_.residual <= options_.tolerance) return finish(Status::converged, "the site equations hold");
      if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before the optimum was reached");
      const bool gains = now_.bound > bound + smallest_gain * (1.0 + std::abs(now_.bound));
      idle = gains || now_.residual < 0.9 * best ? 0 : idle + 1;
      best = std::min(best, now_.residual);
      bound = now_.bound;
      if (idle > max_idle_steps || !advance(mixing))
        return finish(Status::stalled, idle > max_idle_steps
                                           ? "the site equations hold no better after further steps"
                                           : "no step increases the bound any more in double precision");
    }
    finish(Status::iteration_limit,
           fmt::format("no optimum within {} factorisations; raise kl.max_iterations", options_.max_iterations));
  }

  /// The sites that q(u) has at its optimum: blocks and shifts that the rule asks for.
  [[nodiscard]] SiteApproximation sites() const {
    SiteApproximation out{now_.precision, Vector(), core_.width()};
    out.shift = now_.slope + precision_times(out, now_.eta);
    return out;
  }

 private:
  /// log Z_h = sum h(m, V) - 1/2 log|I + P| + 1/2 (s - tr Sigma) - 1/2 |u|^2.
  [[nodiscard]] bool evaluate(const ValuePoint& point, Evaluation& out) {
    out = {};
    Matrix lower = point.gain;
    lower.diagonal().array() += 1.0;
    if (!point.mean.allFinite() || !cholesky(lower)) return false;
    const double determinant = half_log_determinant(lower);
    const Matrix sigma = inverse_of_factor(lower);
    out.spread = sigma.diagonal().cwiseSqrt();
    out.eta = core_.prior_mean() + inducing_.times(rows_, point.mean);
    const Vector covariance = inducing_.covariances(rows_, sigma);
    Vector value;
    Vector bend;
    sites_.expectation(out.eta, covariance, &value, &out.slope, &bend);
    const double trace = 0.5 * (static_cast<double>(sigma.rows()) - sigma.trace());
    const double quadratic = 0.5 * point.mean.squaredNorm();
    out.bound = value.sum() - determinant + trace - quadratic;
    if (!std::isfinite(out.bound)) return false;
    out.rounding = rounding_share * (value.cwiseAbs().sum() + std::abs(determinant) + trace + quadratic);

    out.precision = -2.0 * bend;
    out.gain = inducing_.gram(rows_, out.precision);
    const Vector force = inducing_.transposed_times(rows_, out.slope) - point.mean;
    out.pull = symmetric_times(sigma, force);
    // |L^-1 (P' - P) L^-T|: twice the square root of what is left to gain in the covariance, to second order.
    Matrix left = out.gain - point.gain;
    mirror_lower(left);
    solve_lower(lower, left);
    left.transposeInPlace();
    solve_lower(lower, left);
    out.residual = std::max(std::sqrt(std::max(0.0, force.dot(out.pull))), left.norm());
    return true;
  }

  /// The unknowns as one vector: the mean and the lower triangle of P.
  [[nodiscard]] static Vector packed(const Vector& mean, const Matrix& gain) {
    const Index s = mean.size();
    Vector x(s + s * (s + 1) / 2);
    x.head(s) = mean;
    for (Index j = 0, at = s; j < s; at += s - j, ++j) x.segment(at, s - j) = gain.col(j).tail(s - j);
    return x;
  }
  [[nodiscard]] static ValuePoint unpacked(const Vector& x, Index s) {
    ValuePoint out{x.head(s), Matrix::Zero(s, s)};
    for (Index j = 0, at = s; j < s; at += s - j, ++j) out.gain.col(j).tail(s - j) = x.segment(at, s - j);
    return out;
  }

  bool take(const Vector& x) {
    ValuePoint point = unpacked(x, inducing_.rank());
    Evaluation found;
    if (!evaluate(point, found)) return false;
    const bool closer = now_.residual < flat_residual && found.residual < now_.residual;
    const double allowed = found.rounding * (closer ? flat_share / rounding_share : 1.0);
    if (found.bound < now_.bound - allowed) return false;
    point_ = std::move(point);
    now_ = std::move(found);
    return true;
  }

  /// One step that take() accepts: accelerated, then plain ones, ever shorter.
  bool advance(AndersonMixing& mixing) {
    const Vector x = packed(point_.mean, point_.gain);
    const Vector f = packed(now_.pull, now_.gain - point_.gain);
    const Vector weight = packed(now_.spread.cwiseInverse(), now_.spread * now_.spread.transpose());
    if (take(mixing.next(x, f, weight, share_))) {
      refused_ = 0;
      return true;
    }
    if (++refused_ >= most_refusals) {
      mixing.clear();
      refused_ = 0;
    }
    double length = share_;
    for (int halving = 0; halving < max_halvings; ++halving, length *= 0.5)
      if (take(x + length * f)) {
        if (halving > 0) share_ = 0.5;
        return true;
      }
    return false;
  }

  void finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
    report_.residual = now_.residual;
  }

  const JointInducingCore& core_;
  const JointInducing& inducing_;
  const JointInducing::Rows& rows_;
  const SiteRows& sites_;
  const Kl& options_;
  Progress& progress_;
  Report& report_;
  ValuePoint point_;
  Evaluation now_;
  int refused_ = 0;
  double share_ = 1.0;  // Of the way to the rule that a step goes.
};

/// The bound at the core's sites and their mean.
double bound_of(JointInducingCore& core, const SiteRows& sites, const LatentPoint& mean) {
  const RowMarginals q = core.marginals(mean);
  Vector value;
  sites.expectation(q.mean, q.covariance, &value);
  return value.sum() - core.half_log_det().value + 0.5 * core.sites().precision.dot(q.covariance - q.leftover) -
         0.5 * core.inner(mean, mean);
}

void check_covariance(const Kl& options) {
  if (options.expectation != KlExpectation::bound)
    throw InvalidOption("kl.expectation = quadrature is not there for inducing variables; leave it at bound");
  if (options.covariance == structured_covariance)
    throw InvalidOption(
        "kl.covariance = structured saves nothing with inducing variables, whose full covariance is as cheap; use auto "
        "or full");
  if (options.covariance != "auto" && options.covariance != "full")
    throw InvalidOption(
        fmt::format("kl.covariance = {} is for one latent a row; inducing variables of several take "
                    "auto or full",
                    options.covariance));
}

}  // namespace

void run_kl_inducing(const Kl& options, const Run& run, Posterior::State& state) {
  check_covariance(options);
  const auto core = std::dynamic_pointer_cast<JointInducingCore>(build_core(run, state));
  const SiteRows sites(state.model, state.threads);
  Report& report = state.report;
  report.tolerance = options.tolerance;
  Progress progress(run.progress, &report.history);

  ValueSearch search(*core, sites, options, progress, report);
  const SiteApproximation* warm = run.warm_start != nullptr ? &run.warm_start->site_approximation() : nullptr;
  if (warm != nullptr && warm->rows() == core->rows() && warm->width == core->width()) {
    // The dual, a = nu - T m, carries over to another prior and to other inducing variables.
    const Vector dual = warm->shift - precision_times(*warm, run.warm_start->latent().mean);
    search.start_from(core->inducing().transposed_times(core->seen_rows(), dual), warm->precision);
  } else {
    search.start_cold();
  }
  search.climb();
  core->restore(search.sites());
  const LatentPoint mean = core->mean();
  end_in_site_form(*core, sites, {mean, bound_of(*core, sites, mean), {EvidenceKind::lower_bound, false}, true, true},
                   state);
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, [](const SiteBlock&, Index, int) { return 0.0; });
  };
}

}  // namespace gaussmith
