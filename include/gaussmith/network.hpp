#pragma once
// Two-layer networks and sparse linear models by expectation propagation with every scale integrated
// (docs/engines/network_formulas.md):
//
//   f(x) = h_0 + sum_k v_k g(h_k),  h_k = w_k'(x, 1),  g(h) = erf(h / sqrt(2)),  v_k >= 0,  y ~ t(y | f).
//
// Unit 0 is linear and holds the intercept; without hidden units it is the whole, a sparse linear model. Input weights
// have priors whose log scales phi are unknown, and so is the log noise variance theta of gaussian sites.

#include "gaussmith/infer.hpp"
#include "gaussmith/shared_matrix.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gaussmith {

/// Which input weights share a log scale phi, and their prior given it: of variance e^phi, normal or Laplace. The
/// linear unit has log scales of its own, by the same rule.
enum class WeightPrior {
  gaussian,     ///< All of them; normal.
  ard,          ///< Those of an input (or of a group of inputs) in all units; normal.
  laplace,      ///< All of them; Laplace.
  laplace_ard,  ///< Those of an input (or of a group of inputs) in all units; Laplace.
  independent   ///< None: every weight has its own; normal given it, heavy-tailed over all.
};

/// "gaussian", "ard", "laplace", "laplace-ard", "independent".
[[nodiscard]] std::string_view to_string(WeightPrior weights);
/// The other way round. Throws InvalidOption naming those that there are.
[[nodiscard]] WeightPrior parse_weight_prior(std::string_view name);

/// N(mean, sd^2) over the logarithm of a variance. sd = 0 fixes it at the mean.
struct LogVariancePrior {
  double mean = -2.0;
  double sd = 3.0;
};

/// Inputs whose weights share a log scale under `ard` and `laplace-ard`: the columns that code one factor, for example.
struct InputGroup {
  std::string name;
  std::vector<Index> inputs;  ///< Columns, from 0.
};

/// Scales are those of standardised inputs and responses.
struct NetworkPrior {
  int units = 10;  ///< Hidden units K; 0 leaves the linear unit alone: a sparse linear model.
  WeightPrior weights = WeightPrior::ard;
  std::vector<InputGroup> groups = {};  ///< Inputs in none have a log scale each.
  bool linear = true;                   ///< The linear unit sees the inputs; otherwise it is the intercept alone.
  LogVariancePrior scale_prior = {-2.0, 3.0};  ///< Of phi.
  LogVariancePrior noise_prior = {-2.0, 2.0};  ///< Of theta, for gaussian sites.
  double bias_sd = 1.0;                        ///< Prior standard deviation of the biases of hidden units.
  double intercept_sd = 1.0;
  double output_scale = 2.0;    ///< Of the half-t prior of v.
  double output_degrees = 4.0;  ///< Its degrees of freedom.
};

/// A network or a sparse linear model of data. Sites are `gaussian`, whose variance is unknown whatever they say, or of
/// any likelihood with one latent a row and no learnable parameter (bernoulli-probit, poisson, binomial-logit).
struct NetworkModel {
  SharedMatrix inputs;  ///< n x d.
  Sites sites;          ///< n rows.
  NetworkPrior prior = {};
  Vector offset = {};                         ///< Added to f, row by row; empty: none.
  std::vector<std::string> input_names = {};  ///< For messages and summaries; empty: x1, x2, ...
  /// Inputs, and responses of gaussian sites, are centred and divided by their standard deviations beforehand; constant
  /// columns are left out. Everything that is reported is in the units of the data but log scales of input weights and
  /// `NetworkPrior`.
  bool standardize = true;

  /// Throws InvalidModel, one line that says what, where and what would be accepted.
  void validate() const;
};

/// Where the hidden units start; without any there is one start, from the priors.
enum class NetworkStart {
  fitted,  ///< Penalised least squares from random weights, its scales re-estimated on the way.
  zero     ///< Weights and their sites at zero: the thesis' start, which never breaks the symmetry of the units.
};

/// Options of the method.
struct NetworkEp {
  double power = 0.0;    ///< Of likelihood and prior sites; 0: 0.8 with hidden units, 1 without.
  double damping = 0.6;  ///< Share of a step that is taken.
  int starts = 4;        ///< Of networks; stacked by their leave-one-out densities.
  NetworkStart start = NetworkStart::fitted;
  int max_iterations = 1000;  ///< Sweeps before giving up, from each start.
  double tolerance = 0.0;  ///< Largest relative mismatch of tilted and marginal moments; 0: 1e-5, 1e-8 without units.
};

/// Every option of NetworkEp under its full name ("network.power"), with default, range and help.
[[nodiscard]] const std::vector<MethodOptionInfo>& network_options();
/// The options by their full names. Throws InvalidOption.
[[nodiscard]] NetworkEp make_network_ep(const std::map<std::string, std::string, std::less<>>& options = {});
/// The options and their values as text: {"network.power", "0.8"}, all of them or those that are not the default.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> options_of(const NetworkEp& method,
                                                                          bool only_changed = false);

/// The posterior of the logarithm of a variance.
struct LogVariance {
  std::string name;
  double mean = 0.0, sd = 0.0;
};

/// A Gaussian over the weights of one unit, one for each of its inputs and the last for the constant, given by its
/// covariance, or by diagonal - basis diag(sign) basis' where rows are fewer than weights.
struct UnitWeights {
  Vector mean;
  Matrix covariance;  ///< D x D; empty where the rest is in use.
  Vector diagonal;
  Matrix basis;  ///< D x r.
  Vector sign;   ///< 1 or -1, r of them.
};

/// What one start ended with.
struct FittedStart {
  double weight = 1.0;             ///< In the mixture; starts without weight are not kept.
  UnitWeights linear;              ///< Of unit 0; without linear weights the constant alone.
  std::vector<UnitWeights> units;  ///< The hidden units that are left.
  Vector output_mean;              ///< Of v, one for each of these units.
  Matrix output_covariance;
  double noise_mean = 0.0, noise_sd = 0.0;  ///< Of theta in the units of the fit; gaussian sites alone.
};

/// A fitted network as plain data: everything prediction needs and nothing else, for saved models.
struct FittedNetwork {
  Index input_count = 0;      ///< Columns of the inputs.
  std::vector<Index> inputs;  ///< Those that units see, in this order; the others were constant.
  Vector input_centre;        ///< Of those, one each: units see (x - centre) / scale.
  Vector input_scale;
  bool linear = true;  ///< Whether unit 0 sees them, too.
  double response_centre = 0.0;
  double response_scale = 1.0;
  Sites likelihood;                        ///< One row, its shared parameters at their values.
  std::vector<std::string> row_arguments;  ///< Those that vary by row and have no default: predictions must bring them.
  std::vector<FittedStart> starts;
};

/// Predicts from a fitted network. Cheap to copy; const and safe to share between threads.
class NetworkPredictor {
 public:
  /// Checks the data (InvalidModel).
  explicit NetworkPredictor(FittedNetwork fitted);

  [[nodiscard]] const FittedNetwork& fitted() const { return *fitted_; }
  /// f and y at new inputs: a mixture over the starts, and over the noise variance of gaussian sites. Inputs, offset
  /// and row-wise arguments are read. O(M K d^2).
  [[nodiscard]] Prediction predict(const PredictionPoints& points, int threads = 1) const;

 private:
  std::shared_ptr<const FittedNetwork> fitted_;
};

/// What an input contributes.
struct InputRelevance {
  Index input = 0;
  std::string name;
  double share = 0.0;                            ///< E[u_j^2] + sum_k E[v_k^2] E[w_kj^2], of the sum over all inputs.
  std::optional<LogVariance> hidden_scale = {};  ///< Under ard and laplace-ard: of its weights in hidden units,
  std::optional<LogVariance> linear_scale = {};  ///< and in the linear unit.
  bool irrelevant = false;  ///< Its weights cannot be told from zero: all within two standard deviations of it.
};

/// How one start ended. Evidence and leave-one-out density are 0 where it came to nothing (numerical_failure).
struct NetworkStartReport {
  double log_evidence = 0.0;
  double weight = 0.0;  ///< In the mixture.
  double residual = 0.0;
  int sweeps = 0;
  int units = 0;               ///< Left.
  double leave_one_out = 0.0;  ///< Mean leave-one-out log density.
  Status status = Status::converged;
};

/// What results show of a network, starts averaged by their weights.
struct NetworkSummary {
  int units = 0;                          ///< Asked for.
  int units_kept = 0;                     ///< Left in the start with the largest weight.
  std::optional<LogVariance> noise;       ///< Of gaussian sites, in the units of the responses.
  std::vector<LogVariance> scales;        ///< Of the heaviest start, of standardised inputs.
  std::vector<InputRelevance> relevance;  ///< The largest share first.
  std::vector<NetworkStartReport> starts;
};

/// The result of inference. Cheap to copy.
class NetworkPosterior {
 public:
  class State;  ///< Internal.
  explicit NetworkPosterior(std::shared_ptr<const State> state);

  [[nodiscard]] const NetworkModel& model() const;
  [[nodiscard]] const NetworkEp& method() const;
  [[nodiscard]] const Report& report() const;
  /// That of the start with the largest, among those that count; an approximation.
  [[nodiscard]] const Evidence& log_evidence() const;

  /// Mean and variance of f at the model's rows, offset included.
  [[nodiscard]] const Marginals& latent() const;
  [[nodiscard]] Prediction predict(const PredictionPoints& points) const;
  [[nodiscard]] Prediction predict(const Matrix& inputs) const { return predict(PredictionPoints{.inputs = inputs}); }
  /// Every row seen from the others without refitting: a mixture of the starts with the weights of their stacking.
  [[nodiscard]] const LeaveOneOut& leave_one_out() const;
  /// What every input contributes, the largest share first.
  [[nodiscard]] const std::vector<InputRelevance>& relevance() const;
  [[nodiscard]] const NetworkSummary& summary() const;
  /// What prediction needs, as plain data: NetworkPredictor(fitted()) predicts the same.
  [[nodiscard]] const FittedNetwork& fitted() const;

 private:
  std::shared_ptr<const State> state_;
};

/// Fits the network. Reads threads, seed, form (covariance or precision, of every unit's weights) and progress of the
/// run. Throws InvalidModel or InvalidOption before any work; numerical outcomes are in the report. A sweep costs
/// n K (d^2 + K + quadrature) + K d^3, or K n^2 (n + d) where d > n.
[[nodiscard]] NetworkPosterior infer(const NetworkModel& model, const NetworkEp& method, const Run& run = {});

}  // namespace gaussmith
