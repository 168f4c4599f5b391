#pragma once
// Inference: a model and a method give a posterior. Nothing is changed in place; the posterior keeps what it needs.

#include "gaussmith/model.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/report.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gaussmith {

/// Gaussian sites only: the posterior and its evidence in closed form.
struct Exact {};

/// A Gaussian at a mode with the curvature there (docs/engines/laplace.md). Needs smooth sites.
struct Laplace {
  int max_iterations = 200;
  double tolerance = 1e-8;  ///< Stop when the gradient norm, in posterior standard deviations, is below this.
};

/// In which basis the zeros of a constrained covariance stand. A full covariance is the same in both; a constrained one
/// is not, and neither basis gives the better bound in every model.
enum class Basis {
  weights,  ///< The weights w.
  whitened  ///< The whitened weights u, w = mean + R u with Sigma = R R' (R lower triangular up to pivoting).
};

/// How kl finds the optimum over all Gaussians (docs/engines/kl_solvers.md). All end in the same place.
enum class KlSolver {
  sites,         ///< The site form with acceleration: fewest factorisations.
  decoupled,     ///< Linearly constrained Lagrangian: a sequence of convex duals in (alpha, lambda).
  dual,          ///< One convex dual, where E[log t] is concave in mean and variance.
  alpha_lambda,  ///< Quasi-Newton in the dual mean and the logarithms of the site precisions.
  cholesky       ///< Quasi-Newton in the mean and a Cholesky factor of the covariance, whitened.
};

/// When kl has reached its end.
enum class KlStop {
  residual,  ///< The site equations hold to the tolerance.
  gap        ///< The bound can rise by no more than so many nats.
};

/// What kl takes for the expected log softmax.
enum class KlExpectation {
  bound,      ///< A lower bound in closed form, so that the evidence is one.
  quadrature  ///< The expectation itself: integrals up to three classes, otherwise averages over fixed points.
};

/// What the decoupled solver adds to its subproblems, (c/2) lambda_k (sigma - sigma_k)^2.
enum class DecoupledPenalty {
  automatic,  ///< none, then lagrangian when near.
  printed,    ///< c = 1: monotone, converges linearly.
  none,       ///< c = 0: minorise and maximise, monotone.
  lagrangian  ///< c = -1, the Lagrangian's own sign: converges quadratically from near.
};

/// Options of the decoupled solver.
struct Decoupled {
  DecoupledPenalty penalty = DecoupledPenalty::automatic;
  double delta = 0.0;  ///< Weight of (sigma - sigma_k)^4 / 2 for sites that are not log-concave; raised when needed.
};

/// The Gaussian closest to the posterior in KL(q, p): the tightest Gaussian lower bound on the evidence
/// (docs/engines/kl.md). Takes every site with unbounded support.
struct Kl {
  /// Family of the covariance (docs/engines/kl_families.md): auto, full, diagonal, banded:B, chevron:K, sparse:FILE,
  /// subspace:K or factor:K. Several latents a row: auto, full or structured (docs/engines/classes.md).
  std::string covariance = "auto";
  Basis basis = Basis::weights;
  double memory =
      0.0;  ///< GB that the fit may take beyond the model, estimated beforehand; 0 for all of the machine's.
  int max_iterations = 500;
  double tolerance = 1e-8;  ///< Stop when the site equations hold to this, in posterior standard deviations.
  int starts = 4;           ///< Starts for sites that are not log-concave; the best bound is kept.
  KlSolver solver = KlSolver::sites;
  Decoupled decoupled = {};
  KlStop stop = KlStop::residual;
  double gap_tolerance = 1e-4;                       ///< With stop = gap: nats that the bound may still rise.
  KlExpectation expectation = KlExpectation::bound;  ///< Of multinomial-logit sites.
};

/// Which updates EP makes.
enum class EpMode {
  automatic,    ///< The cheapest first; each escalation has a reason, and the report states it.
  parallel,     ///< All sites at once, one factorisation a sweep.
  sequential,   ///< One site at a time by rank-one updates.
  double_loop,  ///< Expectation-consistent double loop: slow, and it converges for bounded sites.
};

/// How nested EP treats the inner approximation of a row of several classes; both have the same fixed point.
enum class EpInner {
  converged,   ///< Until it has converged, at every outer update.
  incremental  ///< One sweep.
};

/// Where the tilted moments of a row of several classes come from.
enum class ClassMoments {
  nested,     ///< An EP inside the row: any number of classes.
  quadrature  ///< Exact, for up to four classes.
};

/// Expectation propagation (docs/engines/ep.md). Takes every site.
struct Ep {
  EpMode mode = EpMode::automatic;
  double power = 1.0;      ///< Power of the sites in the tilted distributions.
  double damping = 1.0;    ///< Share of a step that is taken.
  double min_power = 0.2;  ///< How far `automatic` may lower the power as its last resort.
  int max_iterations = 5000;
  double tolerance = 1e-8;             ///< Largest relative mismatch of tilted and marginal moments at the end.
  EpInner inner = EpInner::converged;  ///< Of multinomial-probit sites.
  ClassMoments moments = ClassMoments::nested;  ///< Of multinomial-probit sites.
};

/// Local variational bounds: super-Gaussian sites under Gaussian tangents, a lower bound on the evidence in closed form
/// (docs/engines/vb.md).
struct Vb {
  /// Where variances come from: exact, selected (the entries of the inverse that the sparse form needs), or estimates
  /// in the matrix-free form: lanczos:K steps, from below; probing:K solves; sampling:K draws. auto: exact or selected,
  /// and sampling:64 where both rows and weights are many.
  std::string variances = "auto";
  int max_iterations = 500;
  double tolerance = 1e-8;  ///< Stop when the site equations hold to this, in posterior standard deviations.
  int starts = 4;           ///< Starts for sites that are not log-concave; the best bound is kept.
};

/// Which sites vmf updates at a time; both have the same fixed points.
enum class VmfOrder {
  parallel,   ///< All of them, one factorisation a step.
  sequential  ///< One after the other: message passing.
};

/// Variational mean field between the latents and the auxiliary variables of the sites, which are scales of a normal or
/// noisy latents: a lower bound, looser than those of kl (docs/engines/vmf.md). Takes student-t, cauchy, laplace,
/// logistic and probit sites, with gaussian ones among them, and multinomial-probit.
struct Vmf {
  int max_iterations = 500;
  double tolerance = 1e-8;  ///< Stop when the equations of the optimum hold to this, in posterior standard deviations.
  VmfOrder order = VmfOrder::parallel;
  int starts = 4;  ///< Starts for sites that are not log-concave; the best bound is kept.
};

/// The posterior of the scales of mixture rows under vmf: phi_n ~ inverse-gamma(shape, rate) of Student-t and Cauchy
/// rows, where y_n ~ N(eta_n, phi_n) given phi_n; NaN in others.
struct MixtureScales {
  Vector shape, rate;
  /// E[1/phi], the precision of one copy of the row: small for outliers. Of Laplace rows too, and of logistic ones the
  /// mean of their Polya-Gamma precision. NaN in gaussian and probit rows.
  Vector mean_precision;
};

/// Importance sampling from multivariate t's around a Gaussian fit (docs/engines/sampling.md): the evidence and every
/// moment with a standard error. Takes every site.
struct ImportanceSampling {
  int draws = 4000;
  double degrees = 0.0;  ///< Of freedom of the t; 0: a quarter of the dimension, at least 5.
};

/// Where annealed particles begin.
enum class AnnealingStart {
  automatic,  ///< Around a Gaussian fit where all sites are log-concave, else at the prior.
  prior,
  fit
};

/// Annealed importance sampling: particles led to the posterior through powers of the likelihood.
struct AnnealedImportance {
  int draws = 1000;        ///< Particles.
  int temperatures = 200;  ///< Steps from the start to the posterior.
  AnnealingStart start = AnnealingStart::automatic;
};

/// Elliptical slice sampling, several chains. Needs a Gaussian prior.
struct EllipticalSlices {
  int draws = 4000;  ///< Of all chains together, after warm-up.
  int chains = 4;
  int warmup = 500;  ///< Of each chain.
};

/// The no-U-turn sampler, several chains. Takes every site and every prior.
struct NoUTurn {
  int draws = 4000;  ///< Of all chains together, after warm-up.
  int chains = 4;
  int warmup = 500;         ///< Of each chain, in which the step size is found.
  double acceptance = 0.8;  ///< Mean acceptance that the step size is to have.
  int max_depth = 10;       ///< Doublings of a trajectory.
};

using Method =
    std::variant<Exact, Laplace, Kl, Ep, Vb, Vmf, ImportanceSampling, AnnealedImportance, EllipticalSlices, NoUTurn>;

/// Whether a method draws from the posterior: its evidence is an estimate or none, it has no gradient.
[[nodiscard]] bool is_sampler(const Method& method);

/// The method by its command-line name with its options, e.g. make_method("laplace", {{"laplace.tolerance", "1e-6"}}).
[[nodiscard]] Method make_method(std::string_view name,
                                 const std::map<std::string, std::string, std::less<>>& options = {});

struct MethodOptionInfo {
  std::string name;
  std::string default_value;
  std::string range;
  std::string help;
};

/// One line of `gaussmith methods`.
struct MethodInfo {
  std::string name;
  std::string evidence;  ///< Kind of its evidence.
  std::string sites;     ///< Which sites it accepts.
  std::string summary;
  std::vector<MethodOptionInfo> options;
};
[[nodiscard]] const std::vector<MethodInfo>& method_catalogue();

/// The name of a method: "laplace".
[[nodiscard]] std::string_view name_of(const Method& method);

/// The options of a method and their values as text: {"ep.power", "0.5"}, all of them or those that are not the
/// default.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_of(const Method& method,
                                                                          bool only_changed = false);

/// The sites of a Gaussian approximation, q(w) ∝ N(w | mean, covariance) exp(nu'eta - eta' T eta / 2). T is block
/// diagonal: a row couples `width` consecutive entries of eta; with width 1 it has one precision tau_n and one shift
/// nu_n.
struct SiteApproximation {
  Vector precision;  ///< The blocks of T in row order, width x width numbers each.
  Vector shift;      ///< nu, width numbers a row.
  Index width = 1;
  /// Where every block is diag(pi) - pi pi'/1'pi: pi, width numbers a row. Otherwise empty.
  Vector star = {};

  [[nodiscard]] Index rows() const { return shift.size() / width; }
  [[nodiscard]] bool same_precision(const SiteApproximation& other) const {
    return width == other.width && precision.size() == other.precision.size() && precision == other.precision &&
           star.size() == other.star.size();
  }
  [[nodiscard]] bool operator==(const SiteApproximation& other) const {
    return same_precision(other) && shift.size() == other.shift.size() && shift == other.shift;
  }
};

/// Every row seen from the others: q without the row's own site, and what that predicts for its response.
struct LeaveOneOut {
  Marginals latent;    ///< Mean and variance of eta_n under q without site n. NaN where that is not a distribution.
  Vector log_density;  ///< log of the expected t_n under it, the log predictive density of y_n given the other rows.
};

/// The result of inference: a Gaussian over w with its evidence and its report. Cheap to copy.
class Posterior {
 public:
  class State;  ///< Internal.
  explicit Posterior(std::shared_ptr<const State> state);

  [[nodiscard]] const Model& model() const;
  [[nodiscard]] const Method& method() const;
  [[nodiscard]] const Report& report() const;
  [[nodiscard]] const Evidence& log_evidence() const;

  /// Mean and variance of eta at the model's rows.
  [[nodiscard]] const Marginals& latent() const;
  /// Mean and variance of w; computed on request, O(N^2 D) or O(D^3).
  [[nodiscard]] Marginals weights() const;
  /// Covariance of the selected rows of eta: |rows| x |rows|.
  [[nodiscard]] Matrix latent_covariance(const std::vector<Index>& rows) const;
  /// Draws of w: D x draws.
  [[nodiscard]] Matrix sample_weights(int draws, std::uint64_t seed) const;
  /// The Gaussian sites that stand for the model's. Under a constrained covariance their Gaussian is not quite this
  /// one.
  [[nodiscard]] const SiteApproximation& site_approximation() const;
  /// Leave-one-out predictions without refitting: exact for Gaussian sites, otherwise as good as the other sites'
  /// approximations. Under a constrained covariance the site is divided out of the row's marginal, which is coarser.
  /// O(N).
  [[nodiscard]] LeaveOneOut leave_one_out() const;
  /// Of vmf where some rows are mixtures; else empty.
  [[nodiscard]] const std::optional<MixtureScales>& scales() const;

  /// d log evidence / d log(parameter) for every learnable parameter, at the optimum of the method's own variables.
  [[nodiscard]] std::map<std::string, double, std::less<>> gradient() const;

  /// About what rounding leaves uncertain in an entry of gradient(), absolute.
  [[nodiscard]] double gradient_error() const;

  /// Predictions at new points, in blocks so that memory stays bounded whatever the number of points.
  [[nodiscard]] Prediction predict(const PredictionPoints& points) const;
  /// Predictions at new inputs of a Gaussian process.
  [[nodiscard]] Prediction predict(const Matrix& inputs) const { return predict(PredictionPoints{.inputs = inputs}); }

  /// What prediction needs, as plain data: saved models hold it, and Predictor(fitted()) predicts the same.
  [[nodiscard]] FittedGaussian fitted() const;

  [[nodiscard]] const State& state() const { return *state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// Runs the method on the model. Throws InvalidModel or InvalidOption before any work; everything numerical is in the
/// report of the posterior.
[[nodiscard]] Posterior infer(const Model& model, const Method& method, const Run& run = {});

}  // namespace gaussmith
