#pragma once
// What a run was asked to do and what it says about itself. Numerical outcomes are data, never exceptions.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

class Posterior;

/// How a run ended.
enum class Status {
  converged,          ///< The certificate in Report::residual is below the tolerance.
  iteration_limit,    ///< Stopped by the iteration limit; the result so far is returned.
  stalled,            ///< No further progress in double precision, residual above the tolerance.
  inaccurate,         ///< The residual is below the tolerance, but rounding may have moved the answer too far.
  numerical_failure,  ///< A factorisation or a value failed where the method cannot do without it.
  stopped             ///< The progress callback asked to stop; the result so far is returned.
};

[[nodiscard]] std::string_view to_string(Status status);

/// What an evidence value is.
enum class EvidenceKind {
  exact,          ///< Equal to the evidence up to rounding.
  lower_bound,    ///< Guaranteed not to exceed it.
  approximation,  ///< Neither.
  estimate        ///< From sampling.
};

/// The names of formats: "exact", "lower-bound", "approximation", "estimate".
[[nodiscard]] std::string_view to_string(EvidenceKind kind);

struct Evidence {
  double value = 0.0;
  EvidenceKind kind = EvidenceKind::approximation;
  std::optional<double> standard_error = {};  ///< Of an estimate by sampling or probing.
  /// An estimate of the numerical error of `value` alone: rounding, quadrature, unfinished iterations.
  double numerical_error = 0.0;
};

/// One step of an engine or of learning.
struct Iteration {
  int number = 0;
  double objective = 0.0;      ///< What the step increases: log joint, bound or log evidence.
  double residual = 0.0;       ///< The certificate at this step.
  std::string_view step = {};  ///< What kind of step it was, e.g. "newton".
  /// How far a bound can still rise, at most; the least certificate so far. Empty where there is none.
  std::optional<double> duality_gap = {};
};

/// The answer of a progress callback.
enum class Next {
  proceed,
  accept,  ///< Stop and keep the result so far.
  discard  ///< Stop by throwing Interrupted; nothing is kept.
};

/// Thrown when a progress callback answers Next::discard.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted by the progress callback"; }
};

/// Which form of the linear-Gaussian core to use (docs/architecture.md). `root` and `draws` are none to ask for: they
/// are the forms of results whose covariance is constrained (CovarianceRoot in gaussmith/predict.hpp), and of samplers.
enum class CoreForm { automatic, covariance, precision, root, sparse, matrix_free, inducing, draws };

/// Everything about a run that is not the model and not the method.
struct Run {
  int threads = 1;         ///< Bounds all parallelism, BLAS included; 0 takes all cores.
  std::uint64_t seed = 0;  ///< Fixes every random choice.
  CoreForm form = CoreForm::automatic;
  bool substitutes = true;  ///< A method may fall back on a milder one (EP on a lower power) rather than fail.
  std::function<Next(const Iteration&)> progress = {};  ///< Called on the caller's thread after each iteration.
  const Posterior* warm_start = nullptr;                ///< Start from this result of a model with the same rows.
  bool every_gap = false;  ///< kl: a duality gap at every step, for `progress` and the history; else only at the end.
};

/// The share of one row in a duality gap.
struct RowGap {
  std::int64_t row = 0;
  double gap = 0.0;
};

/// What a sampler knows about its own draws: the worst over all weights and latents.
struct SamplingDiagnostics {
  std::optional<double> rhat = {};      ///< Rank-normalised split R-hat: 1 where chains agree.
  std::optional<double> bulk_ess = {};  ///< Effective draws: of chains by ranks, else of weighted draws.
  std::optional<double> tail_ess = {};  ///< The smaller of those of the 5 % and 95 % quantiles.
  std::optional<double> pareto_k = {};  ///< Shape of the tail of importance weights: above 0.7 averages say little.
};

/// What happened, for people and for programs.
struct Report {
  Status status = Status::converged;
  std::string message;  ///< One sentence: how it ended and why.
  int iterations = 0;
  double residual = 0.0;        ///< Certificate of convergence; its meaning is stated by the engine.
  double tolerance = 0.0;       ///< What the residual had to reach.
  double mean_error = 0.0;      ///< What rounding may have moved a mean by, in posterior standard deviations.
  double variance_error = 0.0;  ///< What rounding may have changed a variance by, relative.
  /// Where variances are estimates: a bar on the root-mean-square of their relative errors, of eta and of w.
  double latent_estimate_error = 0.0;
  double weights_estimate_error = 0.0;
  /// kl with a full covariance: how many nats the bound can still rise, at most. Empty where there is no certificate;
  /// a note then says why.
  std::optional<double> duality_gap = {};
  std::vector<RowGap> duality_gap_rows = {};  ///< The rows with the largest shares in it, largest first.
  std::string core;                           ///< The form of the Gaussian core and why it was chosen.
  int jittered = 0;                           ///< Factorisations that needed a ridge.
  int clipped = 0;                            ///< Values held at a bound.
  int skipped = 0;                            ///< Site updates not carried out.
  int negative_precisions = 0;                ///< Sites whose final precision is negative (Student-t outliers).
  bool local_optimum = false;                 ///< What was found may be a local optimum: the objective is not concave.
  bool substituted = false;  ///< The evidence is that of a milder method than asked for (EP with a lowered power).
  double seconds = 0.0;
  std::vector<Iteration> history;
  std::vector<std::string>
      notes;  ///< Decisions taken on the way, e.g. a switch to damped updates, each with its reason.
  std::vector<std::string> warnings;
  std::optional<SamplingDiagnostics> diagnostics = {};  ///< Of samplers.

  [[nodiscard]] bool converged() const { return status == Status::converged; }
  /// One line, e.g. "converged after 6 iterations, residual 3.1e-12 (tolerance 1.0e-08): the optimum of the bound".
  [[nodiscard]] std::string brief() const;
};

}  // namespace gaussmith
