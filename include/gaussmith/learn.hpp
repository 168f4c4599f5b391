#pragma once
// Learning: maximise the (approximate) evidence over a model's parameters, each on its scale, mostly the logarithm.

#include "gaussmith/infer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gaussmith {

/// A hyperprior that is Gaussian on the parameter's scale, log-normal for positive parameters:
/// log(parameter) ~ N(log(median), sd^2), and atanh(parameter) ~ N(atanh(median), sd^2) for correlations.
struct LogNormal {
  double median = 1.0;
  double sd = 1.0;
};

struct Bounds {
  double lower = 1e-5;
  double upper = 1e5;
};

struct Learned;

struct LearnOptions {
  std::set<std::string, std::less<>> fixed = {};           ///< Names (full or short) that keep their value.
  std::map<std::string, Bounds, std::less<>> bounds = {};  ///< Per parameter; others take default_bounds.
  Bounds default_bounds = {};                              ///< Of positive parameters; correlations: -0.999 to 0.999.
  std::map<std::string, LogNormal, std::less<>> hyperpriors = {};
  int max_evaluations = 200;    ///< Of the evidence, for each start.
  double tolerance = 1e-5;      ///< Largest projected gradient of the objective; never sharper than its own error.
  int restarts = 0;             ///< Further starts, drawn around the first from the run's seed.
  double restart_spread = 1.0;  ///< Standard deviation of a restart in log parameters.
  bool warm_start = true;       ///< Start each inference from the last one.
  /// The Hessian at the optimum and from it standard errors, for one or two evaluations a parameter; unset: for up to
  /// 12 free parameters.
  std::optional<bool> standard_errors = {};
  /// Told what learn() would return if it were stopped here, at every point that is better than those before: for
  /// callers who may not wait for the end of an evaluation.
  std::function<void(const Learned&)> keep = {};
};

/// How one parameter fared.
struct LearnedParameter {
  std::string name;
  double initial = 0.0;
  double value = 0.0;
  double gradient = 0.0;  ///< Of the objective on the parameter's scale, at the end.
  bool fixed = false;
  bool at_bound = false;
  std::optional<double> standard_error = {};  ///< Of the parameter on its scale; none at a bound or where not computed.
  std::optional<LogNormal> hyperprior = {};
};

struct LearnReport {
  Status status = Status::converged;
  std::vector<std::string> warnings;
  std::string message;
  int evaluations = 0;
  int curvature_evaluations = 0;      ///< Those that went into second derivatives.
  int failed_evaluations = 0;         ///< Steps that left the valid region and were recovered from.
  std::vector<std::string> failures;  ///< Why, each reason once with how often.
  /// At the first evaluation: the model's own parameters, or where a part of many rows led.
  double initial_objective = 0.0;
  std::int64_t part_rows = 0;   ///< Rows that a first search used; 0: there was none.
  int part_evaluations = 0;     ///< Evaluations over that part, not counted above.
  double objective = 0.0;       ///< log evidence plus log hyperpriors, these without their constants.
  double log_hyperprior = 0.0;  ///< The hyperpriors' part of it.
  double residual = 0.0;        ///< Largest projected gradient.
  int best_start = 0;
  std::vector<double> start_objectives;
  std::vector<LearnedParameter> parameters;
  /// Second derivatives of the objective at the optimum in the places of these parameters on their scales: the free
  /// ones that are not at a bound. Empty where they were not computed.
  std::vector<std::string> hessian_parameters;
  Matrix hessian;
};

struct Learned {
  Posterior posterior;  ///< At the learned parameters; its model() carries them.
  LearnReport report;
};

/// Hyperpriors for every learnable parameter, around the values that the model has; those that a model of a table
/// starts learning with are scaled to its data. An sd of 1.5 leaves a factor of 20 to either side within two standard
/// deviations.
[[nodiscard]] std::map<std::string, LogNormal, std::less<>> weak_hyperpriors(const Model& model, double sd = 1.5);

/// Throws InvalidOption for unknown names or empty ranges; numerical trouble is in the report, and the best point seen
/// is what is returned.
[[nodiscard]] Learned learn(const Model& model, const Method& method, const LearnOptions& options = {},
                            const Run& run = {});

}  // namespace gaussmith
