#pragma once
// Learning: maximise the (approximate) evidence over the logarithms of a model's parameters.

#include "gaussmith/infer.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gaussmith {

/// A log-normal hyperprior: log(parameter) ~ N(log(median), sd^2).
struct LogNormal {
  double median = 1.0;
  double sd = 1.0;
};

struct Bounds {
  double lower = 1e-5;
  double upper = 1e5;
};

struct LearnOptions {
  std::set<std::string, std::less<>> fixed = {};           ///< Names (full or short) that keep their value.
  std::map<std::string, Bounds, std::less<>> bounds = {};  ///< Per parameter; others take default_bounds.
  Bounds default_bounds = {};
  std::map<std::string, LogNormal, std::less<>> hyperpriors = {};
  int max_evaluations = 200;    ///< Of the evidence, for each start.
  double tolerance = 1e-5;      ///< Projected gradient of the objective in log parameters, largest entry.
  int restarts = 0;             ///< Further starts, drawn around the first from the run's seed.
  double restart_spread = 1.0;  ///< Standard deviation of a restart in log parameters.
  bool warm_start = true;       ///< Start each inference from the last one.
};

/// How one parameter fared.
struct LearnedParameter {
  std::string name;
  double initial = 0.0;
  double value = 0.0;
  double gradient = 0.0;  ///< Of the objective in log(parameter), at the end.
  bool fixed = false;
  bool at_bound = false;
};

struct LearnReport {
  Status status = Status::converged;
  std::vector<std::string> warnings;
  std::string message;
  int evaluations = 0;
  int failed_evaluations = 0;  ///< Steps that left the valid region and were recovered from.
  double initial_objective = 0.0;
  double objective = 0.0;  ///< log evidence plus log hyperpriors.
  double residual = 0.0;   ///< Largest projected gradient.
  int best_start = 0;
  std::vector<double> start_objectives;
  std::vector<LearnedParameter> parameters;
};

struct Learned {
  Posterior posterior;  ///< At the learned parameters; its model() carries them.
  LearnReport report;
};

/// Throws InvalidOption for unknown names or empty ranges; numerical trouble is in the report, and the best point seen
/// is what is returned.
[[nodiscard]] Learned learn(const Model& model, const Method& method, const LearnOptions& options = {},
                            const Run& run = {});

}  // namespace gaussmith
