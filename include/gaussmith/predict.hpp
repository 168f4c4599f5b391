#pragma once
// Prediction: what a fitted Gaussian says about new points. Latent (eta) and response (y) are kept apart in every name.

#include "gaussmith/model.hpp"
#include "gaussmith/report.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gaussmith {

/// Moments of eta, row by row; a row of several latents has as many numbers.
struct Marginals {
  Vector mean;
  Vector variance;
  Vector covariance = {};  ///< Of the latents of a row with one another, C x C numbers a row; empty for one latent.
};

/// Where to predict: inputs for a Gaussian process, otherwise rows of a design, both for a process with weights beside
/// it; an offset and row-wise likelihood arguments (trials, exposure) where the model has them.
struct PredictionPoints {
  Matrix inputs = {};                 ///< M x d, for a GaussianProcess prior with the identity design.
  std::optional<Design> design = {};  ///< M x D, otherwise; the identity predicts the weights themselves.
  Vector offset = {};
  Vector variance = {};  ///< Added to the latent variance: what is known to be unknown, e.g. the effect of a new group.
  int block = 0;         ///< Which block of sites gives the likelihood of the response.
  SiteArguments arguments = {};  ///< Row-wise arguments of that likelihood; missing ones keep the model's shared value.
};

/// Class probabilities at M points.
struct ClassProbabilities {
  Matrix probability;  ///< M x C.
  Vector error;        ///< The absolute error of a row's numbers that is vouched for.

  [[nodiscard]] Index likeliest(Index point) const;  ///< The class of the largest probability; the first of equal ones.
  /// The logarithms of the probabilities of these classes, one a point.
  [[nodiscard]] Vector log_density(const Vector& labels) const;
};

/// Predictions at M points. Latent quantities are of eta, response quantities of a new y. Either one Gaussian a point,
/// or a weighted mixture of such predictions, where every quantity is that of the mixture.
class Prediction {
 public:
  /// Without a likelihood (null) only latent quantities exist; `missing` says why.
  Prediction(Marginals latent, Sites likelihood, std::string missing = {})
      : latent_(std::move(latent)), likelihood_(std::move(likelihood)), missing_(std::move(missing)) {}

  /// The mixture of predictions of the same points, which may differ in latent moments and in the parameters of one
  /// likelihood. The weights, one a part, are positive and are scaled to sum to one. Throws InvalidModel.
  [[nodiscard]] static Prediction mixture(std::vector<Prediction> parts, Vector weights);

  /// M, and C, the latents of a point. Latent quantities have C numbers a point, side by side.
  [[nodiscard]] Index points() const { return latent_.mean.size() / latents(); }
  [[nodiscard]] Index latents() const;
  [[nodiscard]] const Vector& latent_mean() const { return latent_.mean; }
  [[nodiscard]] const Vector& latent_variance() const { return latent_.variance; }
  /// Of the latents of a point with one another: C x C numbers a point; empty for one latent.
  [[nodiscard]] const Vector& latent_covariance() const { return latent_.covariance; }

  /// Of labels: E[p(y = c)] under the latent moments of every point.
  [[nodiscard]] ClassProbabilities class_probabilities(const ProbabilityGoal& goal = {}) const;
  /// Of multinomial-logit: a lower bound on the log probability of every class in closed form, M x C.
  [[nodiscard]] Matrix class_log_density_lower() const;
  /// Of labels: the class probabilities at the latent means, M x C.
  [[nodiscard]] Matrix class_probabilities_at_mean() const;

  [[nodiscard]] Vector response_mean() const;         ///< NaN where it does not exist (Cauchy).
  [[nodiscard]] Vector response_variance() const;     ///< NaN where it does not exist (Student-t, nu <= 2).
  [[nodiscard]] Vector response_probability() const;  ///< P(y = 1) for Bernoulli sites; empty otherwise.
  [[nodiscard]] Vector response_quantile(double level) const;
  [[nodiscard]] Vector response_cdf(const Vector& y) const;
  /// log of the predictive density (mass) of y: log ∫ t(y | eta) N(eta) d eta.
  [[nodiscard]] Vector log_density(const Vector& y) const;
  /// Independent draws of the response at every point: M x draws. Points are not coupled; see
  /// Posterior::sample_weights.
  [[nodiscard]] Matrix response_samples(int draws, std::uint64_t seed) const;
  /// Whether response quantities can be given: all row-wise arguments of the likelihood are known.
  [[nodiscard]] bool has_response() const { return likelihood_ != nullptr; }
  /// Why they cannot.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  /// The likelihood of the responses with the row-wise arguments of the points; null without response quantities.
  /// Of a mixture that of its first part: the parts differ in parameters, not in kind.
  [[nodiscard]] const Sites& likelihood() const { return likelihood_; }
  /// What a mixture consists of; empty for one Gaussian.
  [[nodiscard]] const std::vector<Prediction>& parts() const { return parts_; }
  [[nodiscard]] const Vector& part_weights() const { return part_weights_; }  ///< Their sum is one.

 private:
  [[nodiscard]] const SiteBlock& response() const;  // Throws InvalidModel with missing().
  [[nodiscard]] Vector class_log_density(const Vector& y) const;
  [[nodiscard]] Vector averaged(const std::function<Vector(const Prediction&)>& quantity) const;

  Marginals latent_;
  Sites likelihood_;
  std::string missing_;
  std::vector<Prediction> parts_ = {};
  Vector part_weights_ = {};
};

/// The covariance V = S'S + scale^2 (I - P'P) of a constrained Gaussian, S the root and P the complement.
struct CovarianceRoot {
  SparseMatrix root;      ///< S: any number of rows, one column a coordinate.
  Matrix complement;      ///< P with orthonormal rows; empty for V = S'S.
  double scale = 0.0;     ///< Standard deviation outside the span of P.
  bool whitened = false;  ///< Coordinates are the whitened weights u, w = mean + R u, instead of w.
};

/// A fitted Gaussian as plain data: everything prediction needs and nothing else, so that saved models need no training
/// table. Filled by Posterior::fitted(); the fields of the form not in use are empty.
struct FittedGaussian {
  Prior prior;
  CoreForm form = CoreForm::covariance;
  std::vector<Sites> sites;  ///< The likelihood of every block: one row each, shared parameters at their values.
  /// For every block the arguments that vary by row and have no default (trials): predictions must bring them.
  std::vector<std::vector<std::string>> row_arguments;

  Latents latents = {};        ///< Several latents a row; they have the covariance form.
  Design design = Identity{};  ///< Covariance form: the training rows H.
  Vector precision;            ///< Covariance form: site precisions tau, or their blocks.
  Vector star = {};            ///< Of blocks that are stars (SiteApproximation).
  Vector dual;                 ///< Covariance form: a with posterior mean of w = mean + Sigma H'a.

  /// Inducing form: the prior's inputs are those of the inducing variables. These of them, in this order, have the
  /// coordinates; `noise` is the variance added to each of their values.
  std::vector<Index> pivots = {};
  Vector noise = {};

  /// Precision and inducing form: posterior mean of the whitened weights u, w = mean + R u. Root form: of u or of w.
  Vector coordinates;
  Matrix factor;  ///< Precision and inducing form: lower Cholesky factor of the posterior precision of u.

  CovarianceRoot covariance;  ///< Root form.
  Matrix draws = {};          ///< Draws of w, one a column; of several latents the numbers of a weight side by side.
};

/// One Gaussian of a mixture: the fit at some values of the parameters.
struct WeightedGaussian {
  double weight = 1.0;
  /// What the Gaussians of a mixture differ in, by full name: their priors and sites are otherwise the same.
  std::map<std::string, double, std::less<>> parameters = {};
  FittedGaussian fitted;
};

/// Predictions averaged over a mixture. The Gaussians are taken one at a time: the memory is that of one and of what it
/// predicts; the time is that of all, O(N^3) each in the covariance form.
[[nodiscard]] Prediction predict_mixture(const std::vector<WeightedGaussian>& mixture, const PredictionPoints& points,
                                         int threads = 1);

/// Predicts from a fitted Gaussian. Cheap to copy; const and safe to share between threads.
class Predictor {
 public:
  /// Checks the data (InvalidModel) and factorises what the covariance form needs, O(N^3).
  explicit Predictor(FittedGaussian fitted, int threads = 1);

  [[nodiscard]] const FittedGaussian& fitted() const;
  /// Blocks of points bound the memory; throws InvalidModel when points do not suit the prior.
  [[nodiscard]] Prediction predict(const PredictionPoints& points, int threads = 1) const;

 private:
  class State;
  std::shared_ptr<const State> state_;
};

}  // namespace gaussmith
