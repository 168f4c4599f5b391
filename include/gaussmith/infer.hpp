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

/// Variational mean field between the latents and the auxiliary variables of probit sites: a lower bound, looser than
/// those of kl (docs/engines/classes.md). Takes multinomial-probit.
struct Vmf {
  int max_iterations = 200;
  double tolerance = 1e-8;  ///< Stop when the gradient norm, in posterior standard deviations, is below this.
};

using Method = std::variant<Exact, Laplace, Kl, Ep, Vb, Vmf>;

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
