#pragma once
// NAME=VALUE options: parameters of the model, options of the method and of learning.

#include "gaussmith/infer.hpp"
#include "gaussmith/integrate.hpp"
#include "gaussmith/learn.hpp"
#include "gaussmith/model.hpp"
#include "gaussmith/sites.hpp"
#include "gaussmith/trust.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// One NAME=VALUE of an option such as --set.
struct Assignment {
  std::string option;  ///< "--set", for messages.
  std::string name;
  std::string value;

  /// The value as numbers separated by commas; throws InvalidOption for anything else.
  [[nodiscard]] std::vector<double> numbers() const;
  /// The same with a required count; `form` shows what is expected, e.g. "NAME=LOWER,UPPER".
  [[nodiscard]] std::vector<double> numbers(std::size_t count, std::string_view form) const;
};

/// Splits at the first '='. Throws InvalidOption when there is none, or no name.
[[nodiscard]] std::vector<Assignment> parse_assignments(std::string_view option, const std::vector<std::string>& texts);

/// The assignments sorted by whom they concern.
struct Settings {
  std::vector<Assignment> parameters;
  std::map<std::string, std::string, std::less<>> method_options;  ///< By full name: laplace.tolerance.
  std::vector<Assignment> learning;                                ///< learn.tolerance and so on.
  std::vector<Assignment> integration;                             ///< integrate.fineness and so on.
  std::vector<Assignment> prediction;                              ///< predict.tolerance and predict.probability.
  std::vector<Assignment> diagnosis;                               ///< diagnose.draws and so on.
  std::vector<Assignment> marginals;                               ///< marginals.ep and marginals.levels.
};

/// Method options are recognised by the name of a method in front; one of another method than `method` is refused.
[[nodiscard]] Settings sort_settings(const std::vector<Assignment>& assignments, std::string_view method);

/// The same where several methods run: options of each of them are taken.
[[nodiscard]] Settings sort_settings(const std::vector<Assignment>& assignments,
                                     const std::vector<std::string>& methods);

/// The model with parameters replaced; one value sets all entries of an ARD parameter.
[[nodiscard]] Model apply_parameters(const Model& model, const std::vector<Assignment>& assignments);

struct LearnArguments {
  std::vector<std::string> fixed;
  std::vector<std::string> bounds;
  std::vector<std::string> hyperpriors;
  std::string hyperpriors_for_all;  ///< Empty or "weak".
  int restarts = 0;
};

/// Options of learning from --fix, --bounds, --hyperprior, --hyperpriors, --restarts and --set learn.*.
[[nodiscard]] LearnOptions learn_options(const Model& model, const LearnArguments& arguments,
                                         const std::vector<Assignment>& settings);

/// How class probabilities are found, from --set predict.*; `goal` says the rest.
[[nodiscard]] ProbabilityGoal probability_goal(const std::vector<Assignment>& settings, ProbabilityGoal goal);

/// How far --diagnose goes, from --set diagnose.*.
[[nodiscard]] DiagnoseOptions diagnose_options(const std::vector<Assignment>& settings);

/// What --marginals asks for, from its text and --set marginals.*: rows 3,7 or all, worst:K (which the posterior says
/// later), weight:J and weights, predictions.
struct MarginalRequest {
  MarginalOptions options;
  Index worst = 0;
  bool all_rows = false, all_weights = false, predictions = false;
};
[[nodiscard]] MarginalRequest marginal_request(const std::string& text, const std::vector<Assignment>& settings);

/// Throws where the rule does not go up to so many classes.
void check_rule(const ProbabilityGoal& goal, Index classes);

/// Options of integration from --set integrate.*, around what was learned with these.
[[nodiscard]] IntegrateOptions integrate_options(const LearnOptions& learning, const std::vector<Assignment>& settings);

}  // namespace gaussmith::app
