#include "engines/ep_nested.hpp"

#include "base/parallel_blocks.hpp"
#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "engines/block_mismatch.hpp"
#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/star_sites.hpp"
#include "gaussmith/errors.hpp"
#include "sites/nested_probit.hpp"

#include <fmt/format.h>
#include <Eigen/LU>

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

constexpr Index rows_per_block = 16;
constexpr int mixing_depth = 8;
/// Where an inner EP that is to converge stops, beside the outer tolerance, and how many sweeps it has for that.
constexpr double inner_share = 0.01;
constexpr int most_inner_sweeps = 200;
/// A sweep that multiplies the residual by this was extrapolated too far.
constexpr double too_far = 3.0;
/// Sweeps without a residual clearly below the best one, at full damping, before shorter steps are taken from there.
constexpr int patience = 10;
constexpr double clearly_below = 0.9;
constexpr double shortening = 0.5;
constexpr double smallest_damping = 0.02;

/// The scalar sites of all rows, C - 1 a row: precisions and shifts.
struct InnerSites {
  Vector precision, shift;
};

/// One outer update: what every row asks for under its cavity.
struct Update {
  LatentPoint mean;
  InnerSites inner;
  SiteApproximation sites;
  double log_evidence = 0.0;
  double residual = std::numeric_limits<double>::infinity();
};

class NestedSearch {
 public:
  NestedSearch(JointCore& core, const Model& model, const Ep& options, const Run& run, int threads, Report& report)
      : core_(core),
        options_(options),
        threads_(threads),
        progress_(run.progress, &report.history),
        report_(report),
        labels_(model.rows()) {
    Index row = 0;
    for (const Sites& block : model.sites) {
      labels_.segment(row, block->size()) = block->responses();
      row += block->size();
    }
  }

  void start_from(const Posterior* warm) {
    const Index others = core_.width() - 1;
    inner_ = {Vector::Zero(core_.rows() * others), Vector::Zero(core_.rows() * others)};
    if (warm == nullptr) return;
    const SiteApproximation& sites = warm->site_approximation();
    if (sites.rows() == core_.rows() && sites.width == core_.width() && sites.star.size() > 0) inner_ = inner_of(sites);
  }

  void run() {
    AndersonMixing mixing(mixing_depth);
    double damping = options_.damping;
    double best = std::numeric_limits<double>::infinity();
    double before = best;
    InnerSites best_inner = inner_;
    int idle = 0;
    for (report_.iterations = 1; report_.iterations <= options_.max_iterations; ++report_.iterations) {
      if (!update()) return finish(Status::numerical_failure, "a factorisation failed");
      const Next next = progress_.tell({report_.iterations, now_.log_evidence, now_.residual, "parallel"});
      if (now_.residual <= options_.tolerance)
        return finish(Status::converged, fmt::format("tilted and marginal moments match after {} sweep{}",
                                                     report_.iterations, report_.iterations == 1 ? "" : "s"));
      if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before moments matched");
      idle = now_.residual < clearly_below * best ? 0 : idle + 1;
      if (now_.residual < best) {
        best = now_.residual;
        best_inner = inner_;
      }
      if (now_.residual > too_far * before) mixing.clear();
      before = now_.residual;
      if (idle > patience / damping) {
        if (damping < smallest_damping) return finish(Status::stalled, "shorter steps do not bring moments closer");
        damping *= shortening;
        idle = 0;
        best *= too_far;  // Shorter steps may take a detour.
        before = std::numeric_limits<double>::infinity();
        inner_ = best_inner;
        mixing.clear();
        report_.notes.push_back(fmt::format("updates damped to {:.3g} from sweep {} on", damping, report_.iterations));
        if (!update()) return finish(Status::numerical_failure, "a factorisation failed");
      }
      step(mixing, damping);
    }
    report_.iterations = options_.max_iterations;
    finish(Status::iteration_limit,
           fmt::format("moments do not match after {} sweeps; raise ep.max_iterations", options_.max_iterations));
  }

  [[nodiscard]] const Update& now() const { return now_; }

 private:
  /// Sites of the rows from their inner ones: what is left of them without u.
  [[nodiscard]] SiteApproximation outer(const InnerSites& inner) const {
    const Index c = core_.width();
    SiteApproximation sites{Vector(), Vector::Zero(core_.rows() * c), c, Vector(core_.rows() * c)};
    for (Index n = 0; n < core_.rows(); ++n) {
      const auto y = static_cast<Index>(labels_(n));
      const auto tau = inner.precision.segment(n * (c - 1), c - 1);
      const auto nu = inner.shift.segment(n * (c - 1), c - 1);
      const double pulled = nu.sum() / (1.0 + tau.sum());
      for (Index j = 0, k = 0; k < c; ++k) {
        sites.star(n * c + k) = k == y ? 1.0 : tau(j);
        if (k == y) continue;
        const double shift = nu(j) - tau(j) * pulled;
        sites.shift(n * c + k) = -shift;
        sites.shift(n * c + y) += shift;
        ++j;
      }
    }
    set_star_blocks(sites);
    return sites;
  }

  /// Their inverse.
  [[nodiscard]] InnerSites inner_of(const SiteApproximation& sites) const {
    const Index c = core_.width();
    InnerSites inner{Vector(core_.rows() * (c - 1)), Vector(core_.rows() * (c - 1))};
    for (Index n = 0; n < core_.rows(); ++n) {
      const auto y = static_cast<Index>(labels_(n));
      const double scale = sites.star(n * c + y);
      double sum = 0.0;
      for (Index k = 0; k < c; ++k)
        if (k != y) sum -= sites.shift(n * c + k);
      for (Index j = n * (c - 1), k = 0; k < c; ++k) {
        if (k == y) continue;
        inner.precision(j) = scale > 0.0 ? sites.star(n * c + k) / scale : 0.0;
        inner.shift(j) = -sites.shift(n * c + k) + inner.precision(j) * sum;
        ++j;
      }
    }
    return inner;
  }

  /// Makes q that of the inner sites and asks every row what it wants.
  [[nodiscard]] bool update() {
    const Index c = core_.width();
    if (!core_.set(outer(inner_))) return false;
    now_.mean = core_.mean();
    const RowMarginals q = core_.marginals(now_.mean);
    const Marginals cavity = joint_cavities(q, core_.sites());
    now_.inner = inner_;
    now_.sites = {Vector(), Vector(core_.rows() * c), c, Vector(core_.rows() * c)};
    Vector constant(core_.rows());
    const NestedProbit::Stop stop = options_.inner == EpInner::converged
                                        ? NestedProbit::Stop{most_inner_sweeps, inner_share * options_.tolerance}
                                        : NestedProbit::Stop{1, 0.0};
    const auto each = static_cast<std::size_t>(c);
    parallel_blocks(core_.rows(), rows_per_block, threads_, [&](Index begin, Index end) {
      NestedProbit row(c);
      for (Index n = begin; n < end; ++n) {
        if (!std::isfinite(cavity.variance(n * c))) {  // Rounding of a site far stronger than the rest of q.
          constant(n) = 0.0;
          now_.sites.star.segment(n * c, c) = core_.sites().star.segment(n * c, c);
          now_.sites.shift.segment(n * c, c) = core_.sites().shift.segment(n * c, c);
          continue;
        }
        const Index first = n * (c - 1);
        const auto found =
            row.fit(static_cast<Index>(labels_(n)), {cavity.mean.data() + n * c, each},
                    {cavity.covariance.data() + n * c * c, each * each}, stop,
                    {{now_.inner.precision.data() + first, each - 1}, {now_.inner.shift.data() + first, each - 1}},
                    {{now_.sites.star.data() + n * c, each}, {now_.sites.shift.data() + n * c, each}});
        constant(n) = found.log_normaliser - log_normaliser_of_site(n, q, cavity);
      }
    });
    set_star_blocks(now_.sites);
    const Vector pull = now_.sites.shift - precision_times(now_.sites, q.mean);
    now_.residual = block_mismatch(core_, q, pull - q.dual, now_.sites.precision);
    // log Z_site = -1/2 log|I + K T| + nu'm0 - 1/2 m0'T m0 + 1/2 r'(m - m0), r = nu - T m0.
    const Vector& m0 = core_.prior_mean();
    const Vector t_m0 = precision_times(core_.sites(), m0);
    const Vector r = core_.sites().shift - t_m0;
    now_.log_evidence = constant.sum() - core_.half_log_det().value + (core_.sites().shift - 0.5 * t_m0).dot(m0) +
                        0.5 * r.dot(q.mean - m0);
    return std::isfinite(now_.log_evidence) && std::isfinite(now_.residual);
  }

  /// log of the integral of the row's site under its cavity, which with the row's own normaliser in its place leaves an
  /// evidence that is stationary in the sites:
  ///   1/2 log|I - T V| + nu'm - 1/2 m'T m + 1/2 r'V r,  r = nu - T m, m the cavity's mean and V the marginal's
  ///   covariance.
  [[nodiscard]] double log_normaliser_of_site(Index n, const RowMarginals& q, const Marginals& cavity) const {
    const Index c = core_.width();
    const Eigen::Map<const Matrix> t(core_.sites().precision.data() + n * c * c, c, c);
    const Eigen::Map<const Matrix> v(q.covariance.data() + n * c * c, c, c);
    const auto m = cavity.mean.segment(n * c, c);
    const auto nu = core_.sites().shift.segment(n * c, c);
    const Vector t_m = t * m;
    const Vector r = nu - t_m;
    const Matrix left = Matrix::Identity(c, c) - t * v;
    return 0.5 * std::log(left.partialPivLu().determinant()) + (nu - 0.5 * t_m).dot(m) + 0.5 * r.dot(v * r);
  }

  /// Of s_j = u + f_y - f_j under q, but for what q says about u.
  [[nodiscard]] Vector inner_variances() {
    const Index c = core_.width();
    const RowMarginals q = core_.marginals(now_.mean);
    Vector out(inner_.precision.size());
    for (Index n = 0; n < core_.rows(); ++n) {
      const auto y = static_cast<Index>(labels_(n));
      const Eigen::Map<const Matrix> v(q.covariance.data() + n * c * c, c, c);
      for (Index j = n * (c - 1), k = 0; k < c; ++k)
        if (k != y) out(j++) = 1.0 + std::max(0.0, v(y, y) + v(k, k) - 2.0 * v(y, k));
    }
    return out;
  }

  void step(AndersonMixing& mixing, double damping) {
    const Index size = inner_.precision.size();
    Vector x(2 * size);
    x << inner_.precision, inner_.shift;
    Vector f(2 * size);
    f << now_.inner.precision - inner_.precision, now_.inner.shift - inner_.shift;
    const Vector spread = inner_variances();
    Vector weight(2 * size);
    weight << spread, spread.cwiseSqrt();
    Vector next = mixing.next(x, f, weight, damping);
    // Probit sites have no negative precisions: an extrapolation that asks for one has gone too far.
    if (next.head(size).minCoeff() < 0.0) {
      mixing.clear();
      next = x + damping * f;
    }
    inner_ = {next.head(size).cwiseMax(0.0), next.tail(size)};
  }

  void finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
    report_.residual = now_.residual;
  }

  JointCore& core_;
  const Ep& options_;
  int threads_;
  Progress progress_;
  Report& report_;
  Vector labels_;
  InnerSites inner_;
  Update now_;
};

}  // namespace

void run_ep_nested(const Ep& options, const Run& run, Posterior::State& state) {
  if (options.mode == EpMode::sequential || options.mode == EpMode::double_loop)
    throw InvalidOption("ep.mode: multinomial-probit sites have parallel updates; use auto or parallel");
  if (options.power != 1.0) throw InvalidOption("ep.power: multinomial-probit sites take power 1");
  if (state.model.weights.size() > 0)
    throw InvalidOption("weights: ep knows multinomial-probit rows that count once; repeat the rows");
  const std::shared_ptr<JointCore> core = build_joint_core(run, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  NestedSearch search(*core, state.model, options, run, state.threads, state.report);
  search.start_from(run.warm_start);
  search.run();
  const LatentPoint mean = search.now().mean;
  end_in_site_form(*core, sites, {mean, search.now().log_evidence, {EvidenceKind::approximation, false}, true, false},
                   state);
  state.gradient = [core, mean, &state] {
    return explicit_gradient(*core, mean, state, [](const SiteBlock&, Index, int) { return 0.0; });
  };
}

}  // namespace gaussmith
