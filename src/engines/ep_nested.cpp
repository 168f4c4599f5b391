#include "engines/ep_nested.hpp"

#include "base/parallel_blocks.hpp"
#include "base/progress.hpp"
#include "engines/anderson.hpp"
#include "engines/block_mismatch.hpp"
#include "engines/engine_core.hpp"
#include "engines/explicit_gradient.hpp"
#include "engines/star_sites.hpp"
#include "gaussmith/errors.hpp"
#include "model/latents.hpp"
#include "sites/nested_probit.hpp"
#include "sites/probit_classes.hpp"

#include <fmt/format.h>
#include <Eigen/Cholesky>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
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

/// What EP asks of a row: the unknowns x of its site, the site that they are, and what the row wants under its cavity.
class RowRule {
 public:
  explicit RowRule(Index width) : width_(width) {}
  virtual ~RowRule() = default;

  [[nodiscard]] Index width() const { return width_; }
  /// Numbers a row.
  [[nodiscard]] virtual Index unknowns() const = 0;
  /// The unknowns of a site with precision, shift and, where it is one, star; those of no site where that is unknown.
  virtual void start(Index label, const SiteApproximation& sites, Index row, Span x) const = 0;
  /// Whether x is a site that an extrapolation may lead to.
  [[nodiscard]] virtual bool allowed(ConstSpan x) const = 0;
  /// Sizes to compare the unknowns by, from the covariance of the row under q.
  virtual void sizes(Index label, const Matrix& covariance, Span out) const = 0;
  /// Writes the site of x.
  virtual void site(Index label, ConstSpan x, Index row, SiteApproximation& sites) const = 0;
  /// Replaces x by what the row wants under its cavity and returns the log normaliser of the row there; NaN where that
  /// could not be found.
  [[nodiscard]] virtual double update(Index label, ConstSpan mean, ConstSpan covariance, Span x) const = 0;

 private:
  Index width_;
};

/// Inner EP of C - 1 scalar probit sites: their precisions, then their shifts.
class NestedRule final : public RowRule {
 public:
  NestedRule(Index width, const Ep& options) : RowRule(width), options_(options) {}

  [[nodiscard]] Index unknowns() const override { return 2 * (width() - 1); }

  void start(Index label, const SiteApproximation& sites, Index row, Span x) const override {
    std::fill(x.begin(), x.end(), 0.0);
    if (sites.star.size() == 0) return;
    // The inverse of site().
    const Index c = width();
    const auto pi = sites.star.segment(row * c, c);
    const auto nu = sites.shift.segment(row * c, c);
    if (!(pi(label) > 0.0)) return;
    const double sum = nu(label);
    for (Index j = 0, k = 0; k < c; ++k) {
      if (k == label) continue;
      precision(x)(j) = pi(k) / pi(label);
      shift(x)(j) = -nu(k) + precision(x)(j) * sum;
      ++j;
    }
  }

  /// Probit sites have no negative precisions.
  [[nodiscard]] bool allowed(ConstSpan x) const override {
    return Eigen::Map<const Vector>(x.data(), width() - 1).minCoeff() >= 0.0;
  }

  /// Variances of s_j = u + f_y - f_j under q, but for what q says about u, and their roots.
  void sizes(Index label, const Matrix& v, Span out) const override {
    for (Index j = 0, k = 0; k < width(); ++k) {
      if (k == label) continue;
      const double spread = 1.0 + std::max(0.0, v(label, label) + v(k, k) - 2.0 * v(label, k));
      precision(out)(j) = spread;
      shift(out)(j) = std::sqrt(spread);
      ++j;
    }
  }

  /// What is left of the scalar sites without u.
  void site(Index label, ConstSpan x, Index row, SiteApproximation& sites) const override {
    const Index c = width();
    const Eigen::Map<const Vector> tau(x.data(), c - 1);
    const Eigen::Map<const Vector> nu(x.data() + c - 1, c - 1);
    const double pulled = nu.sum() / (1.0 + tau.sum());
    auto out = sites.shift.segment(row * c, c);
    out.setZero();
    for (Index j = 0, k = 0; k < c; ++k) {
      sites.star(row * c + k) = k == label ? 1.0 : tau(j);
      if (k == label) continue;
      const double pull = nu(j) - tau(j) * pulled;
      out(k) = -pull;
      out(label) += pull;
      ++j;
    }
  }

  [[nodiscard]] double update(Index label, ConstSpan mean, ConstSpan covariance, Span x) const override {
    const NestedProbit::Stop stop = options_.inner == EpInner::converged
                                        ? NestedProbit::Stop{most_inner_sweeps, inner_share * options_.tolerance}
                                        : NestedProbit::Stop{1, 0.0};
    const auto each = static_cast<std::size_t>(width() - 1);
    return NestedProbit(width())
        .fit(label, mean, covariance, stop, {x.subspan(0, each), x.subspan(each)}, {})
        .log_normaliser;
  }

 private:
  [[nodiscard]] Eigen::Map<Vector> precision(Span x) const { return {x.data(), width() - 1}; }
  [[nodiscard]] Eigen::Map<Vector> shift(Span x) const { return {x.data() + width() - 1, width() - 1}; }

  const Ep& options_;
};

/// Exact tilted moments by quadrature: the whole block, then its shift, in contrasts of the functions.
class MomentRule final : public RowRule {
 public:
  explicit MomentRule(Index width) : RowRule(width), contrasts_(contrasts(width)) {}

  [[nodiscard]] Index unknowns() const override { return seen() * (seen() + 1); }

  void start(Index /*label*/, const SiteApproximation& sites, Index row, Span x) const override {
    const Index c = width();
    if (sites.precision.size() == 0) return std::fill(x.begin(), x.end(), 0.0);
    precision(x) =
        contrasts_.transpose() * Eigen::Map<const Matrix>(sites.precision.data() + row * c * c, c, c) * contrasts_;
    shift(x) = contrasts_.transpose() * sites.shift.segment(row * c, c);
  }

  [[nodiscard]] bool allowed(ConstSpan x) const override {
    return Eigen::Map<const Matrix>(x.data(), seen(), seen()).diagonal().minCoeff() >= 0.0;
  }

  void sizes(Index /*label*/, const Matrix& v, Span out) const override {
    const Vector sd = (contrasts_.transpose() * v * contrasts_).diagonal().cwiseMax(0.0).cwiseSqrt();
    precision(out) = sd * sd.transpose();
    shift(out) = sd;
  }

  void site(Index /*label*/, ConstSpan x, Index row, SiteApproximation& sites) const override {
    const Index c = width();
    Eigen::Map<Matrix>(sites.precision.data() + row * c * c, c, c) =
        contrasts_ * Eigen::Map<const Matrix>(x.data(), seen(), seen()) * contrasts_.transpose();
    sites.shift.segment(row * c, c) = contrasts_ * Eigen::Map<const Vector>(x.data() + seen() * seen(), seen());
  }

  [[nodiscard]] double update(Index label, ConstSpan mean, ConstSpan covariance, Span x) const override {
    const Index c = width();
    Vector tilted_mean(c);
    Matrix tilted(c, c);
    ProbitClasses classes(c);
    const auto found = classes.tilted(label, mean, covariance, view(tilted_mean),
                                      {tilted.data(), static_cast<std::size_t>(tilted.size())});
    if (!found.accurate) return std::numeric_limits<double>::quiet_NaN();
    // The site is the difference of the tilted and of the cavity's natural parameters.
    const auto natural = [&](const Matrix& v, const Vector& m) {
      const Matrix inverse =
          Matrix(contrasts_.transpose() * v * contrasts_).ldlt().solve(Matrix::Identity(seen(), seen()));
      return std::pair<Matrix, Vector>(inverse, inverse * (contrasts_.transpose() * m));
    };
    const auto [t_after, n_after] = natural(tilted, tilted_mean);
    const auto [t_before, n_before] =
        natural(Eigen::Map<const Matrix>(covariance.data(), c, c), Eigen::Map<const Vector>(mean.data(), c));
    const Matrix t = t_after - t_before;
    precision(x) = 0.5 * (t + t.transpose());
    shift(x) = n_after - n_before;
    return found.log_normaliser;
  }

 private:
  [[nodiscard]] Index seen() const { return width() - 1; }
  [[nodiscard]] Eigen::Map<Matrix> precision(Span x) const { return {x.data(), seen(), seen()}; }
  [[nodiscard]] Eigen::Map<Vector> shift(Span x) const { return {x.data() + seen() * seen(), seen()}; }

  Matrix contrasts_;
};

/// One outer update: what every row asks for under its cavity.
struct Update {
  LatentPoint mean;
  Vector wanted;  ///< Unknowns.
  double log_evidence = 0.0;
  double residual = std::numeric_limits<double>::infinity();
};

class RowwiseSearch {
 public:
  RowwiseSearch(JointCore& core, const RowRule& rule, const Model& model, const Ep& options, const Run& run,
                int threads, Report& report)
      : core_(core),
        rule_(rule),
        options_(options),
        stars_(options.moments == ClassMoments::nested),
        threads_(threads),
        progress_(run.progress, &report.history),
        report_(report),
        labels_(model.rows()) {
    Index row = 0;
    for (const Sites& block : model.sites) {
      labels_.segment(row, block->size()) = block->responses();
      row += block->size();
    }
    copies_ = model.weights.size() > 0 ? model.weights : Vector::Ones(model.rows());
  }

  void start_from(const Posterior* warm) {
    x_.resize(core_.rows() * rule_.unknowns());
    const SiteApproximation none{Vector(), Vector(), core_.width()};
    const SiteApproximation* sites = warm != nullptr ? &warm->site_approximation() : &none;
    if (sites->rows() != core_.rows() || sites->width != core_.width()) sites = &none;
    // Sites of several copies of a row are as many times the site of one.
    const SiteApproximation each =
        sites->shift.size() > 0 && warm->model().weights.size() > 0 ? one_copy(*sites, warm->model().weights) : *sites;
    for (Index n = 0; n < core_.rows(); ++n) rule_.start(label(n), each, n, row_of(x_, n));
  }

  void run() {
    AndersonMixing mixing(mixing_depth);
    double damping = options_.damping;
    double best = std::numeric_limits<double>::infinity();
    double before = best;
    Vector best_x = x_;
    int idle = 0;
    for (report_.iterations = 1; report_.iterations <= options_.max_iterations; ++report_.iterations) {
      if (!update()) return finish(Status::numerical_failure, why_);
      const Next next = progress_.tell({report_.iterations, now_.log_evidence, now_.residual, "parallel"});
      if (now_.residual <= options_.tolerance)
        return finish(Status::converged, fmt::format("tilted and marginal moments match after {} sweep{}",
                                                     report_.iterations, report_.iterations == 1 ? "" : "s"));
      if (next == Next::accept) return finish(Status::stopped, "stopped by the caller before moments matched");
      idle = now_.residual < clearly_below * best ? 0 : idle + 1;
      if (now_.residual < best) {
        best = now_.residual;
        best_x = x_;
      }
      if (now_.residual > too_far * before) mixing.clear();
      before = now_.residual;
      if (idle > patience / damping) {
        if (damping < smallest_damping) return finish(Status::stalled, "shorter steps do not bring moments closer");
        damping *= shortening;
        idle = 0;
        best *= too_far;  // Shorter steps may take a detour.
        before = std::numeric_limits<double>::infinity();
        x_ = best_x;
        mixing.clear();
        report_.notes.push_back(fmt::format("updates damped to {:.3g} from sweep {} on", damping, report_.iterations));
        if (!update()) return finish(Status::numerical_failure, why_);
      }
      step(mixing, damping);
    }
    report_.iterations = options_.max_iterations;
    finish(Status::iteration_limit,
           fmt::format("moments do not match after {} sweeps; raise ep.max_iterations", options_.max_iterations));
  }

  [[nodiscard]] const Update& now() const { return now_; }

 private:
  [[nodiscard]] Index label(Index row) const { return static_cast<Index>(labels_(row)); }
  [[nodiscard]] Span row_of(Vector& x, Index row) const {
    return {x.data() + row * rule_.unknowns(), static_cast<std::size_t>(rule_.unknowns())};
  }
  [[nodiscard]] ConstSpan row_of(const Vector& x, Index row) const {
    return {x.data() + row * rule_.unknowns(), static_cast<std::size_t>(rule_.unknowns())};
  }

  /// The sites with every row's numbers times a factor.
  [[nodiscard]] static SiteApproximation scaled(SiteApproximation sites, const Vector& factor) {
    const Index c = sites.width;
    for (Index n = 0; n < factor.size(); ++n) {
      sites.shift.segment(n * c, c) *= factor(n);
      if (sites.star.size() > 0) sites.star.segment(n * c, c) *= factor(n);
      if (sites.precision.size() > 0) sites.precision.segment(n * c * c, c * c) *= factor(n);
    }
    return sites;
  }
  [[nodiscard]] static SiteApproximation one_copy(const SiteApproximation& sites, const Vector& copies) {
    return scaled(sites, copies.cwiseInverse());
  }

  /// The sites of one copy of every row.
  [[nodiscard]] SiteApproximation sites_of(const Vector& x) const {
    const Index c = core_.width();
    SiteApproximation sites{Vector(), Vector(core_.rows() * c), c};
    if (stars_)
      sites.star.resize(core_.rows() * c);
    else
      sites.precision.resize(core_.rows() * c * c);
    for (Index n = 0; n < core_.rows(); ++n) rule_.site(label(n), row_of(x, n), n, sites);
    if (stars_) set_star_blocks(sites);
    return sites;
  }

  /// Makes q that of the unknowns and asks every row what it wants.
  [[nodiscard]] bool update() {
    const Index c = core_.width();
    why_ = "K^-1 + T is not positive definite";
    const SiteApproximation one = sites_of(x_);
    if (!core_.set(scaled(one, copies_))) return false;
    now_.mean = core_.mean();
    const RowMarginals q = core_.marginals(now_.mean);
    // A row's dual nu - T m is that of all its copies, of which one leaves.
    RowMarginals less = q;
    for (Index n = 0; n < core_.rows(); ++n) less.dual.segment(n * c, c) /= copies_(n);
    const Marginals cavity = joint_cavities(less, one);
    now_.wanted = x_;
    Vector constant(core_.rows());
    const auto each = static_cast<std::size_t>(c);
    parallel_blocks(core_.rows(), rows_per_block, threads_, [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        constant(n) = 0.0;
        // Rounding of a site far stronger than the rest of q leaves no cavity: such a row stays as it is.
        if (!std::isfinite(cavity.variance(n * c))) continue;
        const double normaliser =
            rule_.update(label(n), {cavity.mean.data() + n * c, each},
                         {cavity.covariance.data() + n * c * c, each * each}, row_of(now_.wanted, n)) -
            log_normaliser_of_site(n, one, q, cavity);
        constant(n) = copies_(n) * normaliser;
      }
    });
    why_ = "the moments of a row could not be found: its latents vary too unevenly";
    if (!now_.wanted.allFinite() || !constant.allFinite()) return false;
    const SiteApproximation wanted = scaled(sites_of(now_.wanted), copies_);
    const Vector pull = wanted.shift - precision_times(wanted, q.mean);
    now_.residual = block_mismatch(core_, q, pull - q.dual, wanted.precision);
    // log Z_site = -1/2 log|I + K T| + nu'm0 - 1/2 m0'T m0 + 1/2 r'(m - m0), r = nu - T m0.
    const Vector& m0 = core_.prior_mean();
    const Vector t_m0 = precision_times(core_.sites(), m0);
    const Vector r = core_.sites().shift - t_m0;
    now_.log_evidence = constant.sum() - core_.half_log_det().value + (core_.sites().shift - 0.5 * t_m0).dot(m0) +
                        0.5 * r.dot(q.mean - m0);
    why_ = "the evidence is no number";
    return std::isfinite(now_.log_evidence) && std::isfinite(now_.residual);
  }

  /// log of the integral of the row's site under its cavity, which with the row's own normaliser in its place leaves an
  /// evidence that is stationary in the sites:
  ///   1/2 log|I - T V| + nu'm - 1/2 m'T m + 1/2 r'V r,  r = nu - T m, m the cavity's mean and V the marginal's
  ///   covariance.
  [[nodiscard]] double log_normaliser_of_site(Index n, const SiteApproximation& sites, const RowMarginals& q,
                                              const Marginals& cavity) const {
    const Index c = core_.width();
    const Eigen::Map<const Matrix> t(sites.precision.data() + n * c * c, c, c);
    const Eigen::Map<const Matrix> v(q.covariance.data() + n * c * c, c, c);
    const auto m = cavity.mean.segment(n * c, c);
    const auto nu = sites.shift.segment(n * c, c);
    const Vector t_m = t * m;
    const Vector r = nu - t_m;
    const Matrix left = Matrix::Identity(c, c) - t * v;
    return 0.5 * std::log(left.partialPivLu().determinant()) + (nu - 0.5 * t_m).dot(m) + 0.5 * r.dot(v * r);
  }

  void step(AndersonMixing& mixing, double damping) {
    const Index c = core_.width();
    const RowMarginals q = core_.marginals(now_.mean);
    Vector weight(x_.size());
    for (Index n = 0; n < core_.rows(); ++n)
      rule_.sizes(label(n), Eigen::Map<const Matrix>(q.covariance.data() + n * c * c, c, c), row_of(weight, n));
    const Vector f = now_.wanted - x_;
    Vector next = mixing.next(x_, f, weight, damping);
    for (Index n = 0; n < core_.rows(); ++n)
      if (!rule_.allowed(row_of(next, n))) {  // Extrapolated too far.
        mixing.clear();
        next = x_ + damping * f;
        break;
      }
    x_ = std::move(next);
  }

  void finish(Status status, std::string message) {
    report_.status = status;
    report_.message = std::move(message);
    report_.residual = now_.residual;
  }

  JointCore& core_;
  const RowRule& rule_;
  const Ep& options_;
  bool stars_;
  int threads_;
  Progress progress_;
  Report& report_;
  Vector labels_;
  Vector copies_;
  Vector x_;  // The unknowns of all rows.
  Update now_;
  const char* why_ = "";  // Of an update that failed.
};

/// A row that counts w times is w copies of its site, which share an approximation. A share of a row would need the
/// moments of a power of the site, which nested EP does not have.
void check_weights(const Vector& weights) {
  for (Index n = 0; n < weights.size(); ++n)
    if (weights(n) < 1.0)
      throw InvalidOption(fmt::format(
          "weights[{}] is {}; ep takes multinomial-probit rows of weight 1 or more; multinomial-logit under "
          "laplace or kl takes any weight",
          n, weights(n)));
}

}  // namespace

void run_ep_nested(const Ep& options, const Run& run, Posterior::State& state) {
  if (options.mode == EpMode::sequential || options.mode == EpMode::double_loop)
    throw InvalidOption("ep.mode: multinomial-probit sites have parallel updates; use auto or parallel");
  if (options.power != 1.0) throw InvalidOption("ep.power: multinomial-probit sites take power 1");
  check_weights(state.model.weights);
  if (options.moments == ClassMoments::quadrature &&
      state.model.latents.count > ProbitClasses::most_classes_by_quadrature)
    throw InvalidOption(
        fmt::format("ep.moments = quadrature takes at most {} classes, and this model has {}; use nested",
                    ProbitClasses::most_classes_by_quadrature, state.model.latents.count));
  const std::shared_ptr<JointCore> core =
      build_joint_core(run, options.moments == ClassMoments::nested ? SitesSee::stars : SitesSee::contrasts, state);
  const SiteRows sites(state.model, state.threads);
  state.report.tolerance = options.tolerance;
  std::unique_ptr<RowRule> rule;
  if (options.moments == ClassMoments::nested)
    rule = std::make_unique<NestedRule>(core->width(), options);
  else
    rule = std::make_unique<MomentRule>(core->width());
  RowwiseSearch search(*core, *rule, state.model, options, run, state.threads, state.report);
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
