#pragma once
// The linear-Gaussian core: given the sites, precision tau and shift nu of every row, the Gaussian
//   q(w) ∝ N(w | mean, Sigma) exp(nu'eta - eta' T eta / 2),  eta = H w + offset,  T = diag(tau).
// The only room that sees structure; engines are site rules on top of it (docs/architecture.md).
//
// With K = H Sigma H', prior mean m0 of eta and r = nu - T m0:
//   V = (K^-1 + T)^-1,  mean of eta = m0 + V r,  dual a = K^-1 (mean - m0) = (I + T K)^-1 r.
//
// A core is told its sites and remembers them: what it is factorised at is its own business.

#include "gaussian/posterior_law.hpp"
#include "gaussian/rounding_error.hpp"
#include "gaussian/sequential_gaussian.hpp"
#include "gaussian/site_form.hpp"
#include "gaussmith/infer.hpp"
#include "linalg/variance_estimators.hpp"
#include "model/prior.hpp"

#include <memory>
#include <optional>
#include <string>

namespace gaussmith {

/// What a core's variances and log-determinant are.
enum class Accuracy {
  exact,       ///< Up to rounding.
  from_below,  ///< Variances that may be too small, never too large.
  estimate     ///< From random probes.
};

/// How good a solve for a mean has to be. Cores that factorise are exact and need neither.
struct SolveGoal {
  const LatentPoint* start = nullptr;  ///< Where an iteration may begin.
  double tolerance = 0.0;              ///< In posterior standard deviations; 0 for as good as can be.
  double reduction = 0.0;              ///< The share of what the start leaves that may be left.
};

struct LogDeterminant {
  double value = 0.0;
  double standard_error = 0.0;  ///< Of an estimate by probing, otherwise 0.
  double unsettled = 0.0;       ///< What iterations that were cut short may leave in it.
  bool exists = true;           ///< Whether the matrix showed itself as positive definite.
};

/// What estimated variances are uncertain by: root-mean-square of their relative errors; 0 where they are exact.
struct VarianceErrors {
  double rows = 0.0;
  double weights = 0.0;
  bool solved = true;  ///< Whether every solve on the way came to its end.
};

/// How a core that only multiplies comes by its variances; a seed fixes all that is random.
struct Estimation {
  VarianceMethod variances = ExactVariances{};
  std::uint64_t seed = 1;
};

class GaussianCore {
 public:
  GaussianCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);
  GaussianCore(const GaussianCore&) = delete;
  GaussianCore& operator=(const GaussianCore&) = delete;
  virtual ~GaussianCore() = default;

  [[nodiscard]] const PriorGeometry& geometry() const { return *geometry_; }
  [[nodiscard]] Index rows() const { return prior_mean_.size() / width_; }
  /// C, the latents of a row: eta, its variances and shifts have C entries a row.
  [[nodiscard]] Index width() const { return width_; }
  /// m0 = H mean + offset.
  [[nodiscard]] const Vector& prior_mean() const { return prior_mean_; }
  /// diag K, the variances of eta before any site; infinite without a Gaussian factor.
  [[nodiscard]] virtual Vector prior_variances() const = 0;

  // --- The sites

  /// Makes q the Gaussian with these sites. Costs nothing where the precisions are those it has. False when K^-1 + T is
  /// not positive definite or a number is not finite; then there is no q until the next success. Negative precisions
  /// are allowed.
  [[nodiscard]] bool set(const SiteApproximation& sites);
  /// Back to sites at which set() was true before; throws std::logic_error if it is not any more.
  void restore(const SiteApproximation& sites);
  [[nodiscard]] const SiteApproximation& sites() const { return sites_; }

  /// Whether a new factorisation, without variances, costs no more than some ten solves with the last one.
  [[nodiscard]] virtual bool factorises_cheaply() const { return false; }

  // --- Moments of q

  [[nodiscard]] virtual Accuracy accuracy() const { return Accuracy::exact; }
  /// Whether variances are on the way to others, so that estimates of them may be rough. Those of a draft are forgotten
  /// where it ends.
  virtual void set_draft(bool /*draft*/) {}
  /// Whether drafts are estimates of their own, from fewer draws, and not the last ones to fewer digits.
  [[nodiscard]] virtual bool drafts_differ() const { return false; }
  /// At the sites; may cost as much as the variances.
  [[nodiscard]] virtual VarianceErrors variance_errors() { return {}; }
  /// The mean of q.
  [[nodiscard]] LatentPoint mean(const SolveGoal& goal = {}) const { return mean(sites_.shift, goal); }
  /// The mean that q would have with these shifts.
  [[nodiscard]] virtual LatentPoint mean(const Vector& shift, const SolveGoal& goal = {}) const = 0;
  /// diag V; computed once for the sites.
  [[nodiscard]] const Vector& variances();
  /// The marginals of q with the mean `at`, which may be of other shifts than the sites'; a = nu - T eta is then that
  /// of the sites' shifts in the precision form and of the mean itself in the covariance form.
  [[nodiscard]] RowMarginals marginals(const LatentPoint& at);
  /// 1/2 log|I + K T|; without a Gaussian factor 1/2 log|H'T H| - D/2 log 2 pi.
  [[nodiscard]] virtual LogDeterminant half_log_det() const = 0;
  /// What that is, which decides what evidence is made of it; once it is known.
  [[nodiscard]] virtual Accuracy determinant_accuracy() const { return accuracy(); }
  /// What that is at most, where an estimate of it is dear.
  [[nodiscard]] virtual double largest_half_log_det() const { return half_log_det().value; }
  /// The part of a row's variance that no site acts upon: that of a process given its inducing variables. Else empty.
  [[nodiscard]] virtual const Vector& leftover() const;
  /// 1/2 sum tau_n v_n over what sites act upon, for the precisions and variances of sites.
  [[nodiscard]] double half_trace(const Vector& precision, const Vector& variance) const;
  /// V x.
  [[nodiscard]] virtual Vector covariance_times(const Vector& x) const = 0;
  /// Updates of one site at a time, starting from the sites and this mean; null where the form has none.
  [[nodiscard]] virtual std::unique_ptr<SequentialGaussian> sweep(const LatentPoint& /*mean*/) const { return nullptr; }

  // --- Points

  /// The point with these coordinates.
  [[nodiscard]] virtual LatentPoint point(Vector coordinates) const = 0;
  /// The prior's centre as a point, and the inner product of two points under the prior: a'K b or u'v (0 without a
  /// Gaussian factor). Half the inner product of a point with itself is -log N(w) up to its constant.
  [[nodiscard]] virtual LatentPoint centre() const = 0;
  [[nodiscard]] virtual double inner(const LatentPoint& a, const LatentPoint& b) const = 0;
  /// The directional derivative of the log joint at `from` towards `to`, given the gradient of the sites at `from`.
  /// For a Newton step it is the squared gradient norm in posterior standard deviations, g'V g.
  [[nodiscard]] virtual double slope(const LatentPoint& from, const LatentPoint& to,
                                     const Vector& site_gradient) const = 0;
  /// What rounding leaves uncertain in the answers at the sites and the mean `at`. Costs little beside a factorisation,
  /// unless there is much to be uncertain of.
  [[nodiscard]] virtual RoundingError rounding_error(const LatentPoint& at) = 0;
  /// Its part for the evidence alone.
  [[nodiscard]] virtual double evidence_rounding(const LatentPoint& at) { return rounding_error(at).log_evidence; }

  // --- What is left when inference is over

  /// What there is to say of the form beyond the reason for its choice, for reports; empty: nothing.
  [[nodiscard]] virtual std::string description() const { return {}; }

  /// d log Z / d log(parameter) for the parameters of the prior at the sites and the mean `at`,
  ///   1/2 tr[(a a' - (K + T^-1)^-1 + g a' + a g') dK],
  /// g an engine's implicit terms (may be empty).
  [[nodiscard]] virtual ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                         const Vector& implicit = {}) const;
  /// The law of q with the mean `at`; it shares the factorisation.
  [[nodiscard]] virtual std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const = 0;

 protected:
  [[nodiscard]] virtual bool factorise(const SiteApproximation& sites) = 0;
  /// For rows of several latents; m0 is theirs.
  GaussianCore(std::shared_ptr<PriorGeometry> geometry, Vector prior_mean, Index width);

  /// diag V and 1 - tau v, in the covariance form without cancellation. Several latents have covariances in place of
  /// shares.
  virtual void find_variances(Vector& variance, Vector& share) = 0;
  /// The blocks of V on its diagonal, once variances were found; empty for one latent.
  [[nodiscard]] virtual const Vector& row_covariances() const;
  /// a = nu - T eta, without cancellation where the form allows it.
  [[nodiscard]] virtual Vector dual(const LatentPoint& at) const = 0;
  /// M with d log Z = tr(M dSigma): 1/2 H'(a a' - (K + T^-1)^-1 + g a' + a g')H, D x D, lower triangle.
  [[nodiscard]] virtual Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const = 0;

  /// What rounding leaves uncertain in eta because of its size and of what its prior mean is made of, and in
  /// nu - T eta because of the sizes of its terms.
  [[nodiscard]] Vector eta_rounding(const LatentPoint& at);
  [[nodiscard]] Vector shift_rounding(const LatentPoint& at);
  /// The size of K_nn's terms: (sum_j |H_nj| sd_j)^2 for weights that are not independent, else K_nn itself.
  [[nodiscard]] const Vector& covariance_sizes();

  void forget_variances() { variances_.reset(); }

  std::shared_ptr<PriorGeometry> geometry_;
  Vector prior_mean_;
  Index width_ = 1;

 private:
  [[nodiscard]] const Vector& mean_sizes();  // |H| |mean| + |offset|.

  Vector offset_size_;
  std::optional<Vector> mean_sizes_, covariance_sizes_;
  SiteApproximation sites_;
  bool factorised_ = false;
  std::optional<Vector> variances_;
  Vector share_;
};

/// What a failed first factorisation says about the model, in one sentence.
[[nodiscard]] std::string why_not_factorised(const GaussianCore& core);

/// The form for a model of these shapes, and the reason in words.
struct FormChoice {
  CoreForm form;
  std::string reason;
};
/// Whether a choice of its own may be a form that estimates variances.
enum class Estimates { never, where_needed };
[[nodiscard]] FormChoice choose_form(const Model& model, CoreForm wanted, Estimates estimates = Estimates::never);

/// Bytes of a model's numbers.
[[nodiscard]] double model_memory(const Model& model);

/// Bytes that a core of this form takes beyond the model while an engine runs, to within a factor of about 1.5. The
/// matrix-free form depends on where its variances come from.
[[nodiscard]] double core_memory(const Model& model, CoreForm form, const Estimation& estimation = {});

/// The core of a model.
[[nodiscard]] std::unique_ptr<GaussianCore> make_core(const Model& model, CoreForm form, int threads,
                                                      const Estimation& estimation = {});

}  // namespace gaussmith
