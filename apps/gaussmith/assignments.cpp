#include "assignments.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/starts.hpp"
#include "gaussmith/table_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace gaussmith::app {

namespace {

std::string_view owner_of(std::string_view name) { return name.substr(0, name.find('.')); }

/// The method with an option of this name that does not begin with its own: decoupled.penalty of kl. Empty: none.
std::string_view method_of_option(std::string_view name) {
  for (const auto& info : method_catalogue()) {
    for (const auto& option : info.options) {
      if (option.name == name) {
        return info.name;
      }
    }
  }
  return {};
}

bool is_method(std::string_view name) {
  for (const auto& info : method_catalogue()) {
    if (info.name == name) {
      return true;
    }
  }
  return false;
}

const Parameter& parameter_of(const std::vector<Parameter>& all, const std::string& full) {
  return *std::find_if(all.begin(), all.end(), [&](const Parameter& parameter) { return parameter.name == full; });
}

ParameterScale scale_of(const Model& model, const std::string& full) {
  return parameter_of(model.parameters(), full).scale;
}

/// Throws where learning would take no notice: parameters that are fixed, and numbers that are data. The scale of
/// coefficients' priors is learned under a hyperprior.
void require_free(const Model& model, const LearnOptions& options, const std::string& full, std::string_view option,
                  bool frees) {
  if (options.fixed.contains(full)) {
    throw InvalidOption(fmt::format("{} {} has no effect: --fix holds it", option, full));
  }
  const auto all = model.parameters();
  const bool data = full.starts_with("sites[") || !frees;
  if (!parameter_of(all, full).learnable && data && options.hyperpriors.count(full) == 0) {
    throw InvalidOption(fmt::format("{} {} has no effect: it is not learned", option, full));
  }
}

/// What the scale of a parameter accepts: whether a value may be inside it, and how messages call its range.
bool is_inside(ParameterScale scale, double value) {
  switch (scale) {
    case ParameterScale::logarithm:
      return value > 0.0;
    case ParameterScale::inverse_tanh:
      return std::abs(value) < 1.0;
    case ParameterScale::itself:
      break;
  }
  return true;
}

std::string_view range_in_words(ParameterScale scale, std::string_view positive, std::string_view correlation,
                                std::string_view any) {
  return scale == ParameterScale::logarithm ? positive : scale == ParameterScale::inverse_tanh ? correlation : any;
}

/// Throws where the name is none of those that are known, with the one that is nearest.
void require_known(const Assignment& setting, const std::vector<std::string>& known, std::string_view accepted) {
  if (std::find(known.begin(), known.end(), setting.name) == known.end()) {
    throw InvalidOption(fmt::format("--set {}={}: there is no option {}{}; accepted are {}", setting.name,
                                    setting.value, setting.name, suggestion(setting.name, known), accepted));
  }
}

}  // namespace

std::vector<double> Assignment::numbers() const { return parse_numbers(value, option + " " + name); }

std::vector<double> Assignment::numbers(std::size_t count, std::string_view form) const {
  auto all = numbers();
  if (all.size() != count) {
    throw InvalidOption(fmt::format("{} {}={}: found {} numbers; expected {}", option, name, value, all.size(), form));
  }
  return all;
}

std::vector<Assignment> parse_assignments(std::string_view option, const std::vector<std::string>& texts) {
  std::vector<Assignment> all;
  for (const std::string& text : texts) {
    const auto equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw InvalidOption(fmt::format("{} {}: expected NAME=VALUE", option, text));
    }
    all.push_back({std::string(option), text.substr(0, equals), text.substr(equals + 1)});
  }
  return all;
}

Settings sort_settings(const std::vector<Assignment>& assignments, std::string_view method) {
  return sort_settings(assignments, std::vector<std::string>{std::string(method)});
}

Settings sort_settings(const std::vector<Assignment>& assignments, const std::vector<std::string>& methods) {
  Settings settings;
  for (const Assignment& assignment : assignments) {
    const std::string_view own = method_of_option(assignment.name);
    const std::string_view owner = own.empty() ? owner_of(assignment.name) : own;
    if (owner == "learn") {
      settings.learning.push_back(assignment);
    } else if (owner == "integrate") {
      settings.integration.push_back(assignment);
    } else if (owner == "predict") {
      settings.prediction.push_back(assignment);
    } else if (owner == "diagnose") {
      settings.diagnosis.push_back(assignment);
    } else if (owner == "marginals") {
      settings.marginals.push_back(assignment);
    } else if (owner != assignment.name && is_method(owner)) {
      if (std::find(methods.begin(), methods.end(), owner) == methods.end()) {
        throw InvalidOption(fmt::format("--set {}: this is an option of the method {}, but the method is {}",
                                        assignment.name, owner, fmt::join(methods, ", ")));
      }
      settings.method_options[assignment.name] = assignment.value;
    } else {
      settings.parameters.push_back(assignment);
    }
  }
  return settings;
}

Model apply_parameters(const Model& model, const std::vector<Assignment>& assignments) {
  std::map<std::string, double, std::less<>> values;
  for (const Assignment& assignment : assignments) {
    const auto names = full_names(model, assignment.name);
    const auto numbers = assignment.numbers();
    if (numbers.size() != 1 && numbers.size() != names.size()) {
      throw InvalidOption(fmt::format("--set {}={}: found {} numbers for {} parameter{}", assignment.name,
                                      assignment.value, numbers.size(), names.size(), names.size() == 1 ? "" : "s"));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      values[names[i]] = numbers.size() == 1 ? numbers.front() : numbers[i];
    }
  }
  return values.empty() ? model : model.with_parameters(values);
}

LearnOptions learn_options(const Model& model, const LearnArguments& arguments,
                           const std::vector<Assignment>& settings) {
  LearnOptions options;
  for (const std::string& name : arguments.fixed) {
    for (const std::string& full : full_names(model, name)) {
      options.fixed.insert(full);
    }
  }
  if (arguments.hyperpriors_for_all == "weak") {
    options.hyperpriors = weak_hyperpriors(model);
  }
  for (const Assignment& prior : parse_assignments("--hyperprior", arguments.hyperpriors)) {
    const auto shape = prior.numbers(2, "NAME=MEDIAN,SD");
    for (const std::string& full : full_names(model, prior.name)) {
      require_free(model, options, full, "--hyperprior", true);
      const ParameterScale scale = scale_of(model, full);
      if (!(shape[1] > 0.0) || !is_inside(scale, shape[0])) {
        throw InvalidOption(
            fmt::format("--hyperprior {}={}: expected {} and SD > 0", prior.name, prior.value,
                        range_in_words(scale, "MEDIAN > 0", "MEDIAN between -1 and 1", "a number MEDIAN")));
      }
      options.hyperpriors[full] = {shape[0], shape[1]};
    }
  }
  for (const Assignment& bound : parse_assignments("--bounds", arguments.bounds)) {
    const auto range = bound.numbers(2, "NAME=LOWER,UPPER");
    for (const std::string& full : full_names(model, bound.name)) {
      require_free(model, options, full, "--bounds", false);
      const ParameterScale scale = scale_of(model, full);
      if (!(range[0] < range[1]) || !is_inside(scale, range[0]) || !is_inside(scale, range[1])) {
        throw InvalidOption(
            fmt::format("--bounds {}={}: expected {}", bound.name, bound.value,
                        range_in_words(scale, "0 < LOWER < UPPER", "-1 < LOWER < UPPER < 1", "LOWER < UPPER")));
      }
      options.bounds[full] = {range[0], range[1]};
    }
  }
  options.restarts = arguments.restarts;
  constexpr std::string_view accepted =
      "learn.tolerance (> 0), learn.max_evaluations (a whole number >= 1), learn.restart_spread (> 0) and "
      "learn.standard_errors (yes or no)";
  for (const Assignment& setting : settings) {
    require_known(setting,
                  {"learn.tolerance", "learn.max_evaluations", "learn.restart_spread", "learn.standard_errors"},
                  accepted);
    if (setting.name == "learn.standard_errors" && (setting.value == "yes" || setting.value == "no")) {
      options.standard_errors = setting.value == "yes";
      continue;
    }
    const double value = setting.name == "learn.standard_errors" ? 0.0 : setting.numbers(1, "one number").front();
    if (setting.name == "learn.tolerance" && value > 0.0) {
      options.tolerance = value;
    } else if (setting.name == "learn.max_evaluations" && value >= 1.0 && value <= 1e9 && value == std::floor(value)) {
      options.max_evaluations = static_cast<int>(value);
    } else if (setting.name == "learn.restart_spread" && value > 0.0) {
      options.restart_spread = value;
    } else {
      throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
    }
  }
  return options;
}

ProbabilityGoal probability_goal(const std::vector<Assignment>& settings, ProbabilityGoal goal) {
  constexpr std::string_view accepted =
      "predict.probability (auto, quadrature or qmc) and predict.tolerance (a number between 0 and 1)";
  for (const Assignment& setting : settings) {
    require_known(setting, {"predict.probability", "predict.tolerance"}, accepted);
    if (setting.name == "predict.probability" && setting.value == "tierney-kadane") {
      throw InvalidOption(
          "--set predict.probability=tierney-kadane: it needs the rows of the fit; give it to fit --problem with "
          "laplace "
          "and one latent a row");
    }
    const bool rule = setting.name == "predict.probability";
    const double tolerance = rule ? 0.0 : setting.numbers(1, "one number").front();
    if (rule && setting.value == "auto") {
      goal.rule = ProbabilityRule::automatic;
    } else if (rule && setting.value == "quadrature") {
      goal.rule = ProbabilityRule::quadrature;
    } else if (rule && setting.value == "qmc") {
      goal.rule = ProbabilityRule::qmc;
    } else if (tolerance > 0.0 && tolerance < 1.0) {
      goal.tolerance = tolerance;
    } else {
      throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
    }
  }
  return goal;
}

DiagnoseOptions diagnose_options(const std::vector<Assignment>& settings) {
  constexpr std::string_view accepted =
      "diagnose.draws and diagnose.most_draws (whole numbers >= 100), diagnose.modes and diagnose.advice (yes or no)";
  DiagnoseOptions options;
  for (const Assignment& setting : settings) {
    require_known(setting, {"diagnose.draws", "diagnose.most_draws", "diagnose.modes", "diagnose.advice"}, accepted);
    const bool count = setting.name == "diagnose.draws" || setting.name == "diagnose.most_draws";
    if (count) {
      constexpr double fewest = 100.0;
      constexpr double most = 1e8;
      const double value = setting.numbers(1, "one number").front();
      if (!(value >= fewest && value <= most && value == std::floor(value))) {
        throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
      }
      (setting.name == "diagnose.draws" ? options.draws : options.most_draws) = static_cast<int>(value);
    } else if (setting.value == "yes" || setting.value == "no") {
      (setting.name == "diagnose.modes" ? options.modes : options.advice) = setting.value == "yes";
    } else {
      throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
    }
  }
  if (options.most_draws < options.draws) {
    options.most_draws = options.draws;
  }
  return options;
}

MarginalRequest marginal_request(const std::string& text, const std::vector<Assignment>& settings) {
  MarginalRequest request;
  const auto refuse = [&] {
    throw InvalidOption(
        fmt::format("--marginals {}: expected rows (3,7), worst:K, all, weight:J, weights or predictions", text));
  };
  const auto whole = [&](std::string_view digits, Index lowest) {
    Index value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < lowest) {
      refuse();
    }
    return value;
  };
  std::string_view left = text;
  while (!left.empty()) {
    const auto comma = left.find(',');
    const std::string_view part = left.substr(0, comma);
    left = comma == std::string_view::npos ? std::string_view{} : left.substr(comma + 1);
    constexpr std::string_view worst = "worst:";
    constexpr std::string_view weight = "weight:";
    if (part == "all") {
      request.all_rows = true;
    } else if (part == "weights") {
      request.all_weights = true;
    } else if (part == "predictions") {
      request.predictions = true;
    } else if (part.starts_with(worst)) {
      request.worst = whole(part.substr(worst.size()), 1);
    } else if (part.starts_with(weight)) {
      request.options.weights.push_back(whole(part.substr(weight.size()), 0));
    } else {
      request.options.rows.push_back(whole(part, 0));
    }
  }
  constexpr std::string_view accepted =
      "marginals.ep (factorised or one-step) and marginals.levels (numbers between 0 and 1)";
  for (const Assignment& setting : settings) {
    require_known(setting, {"marginals.ep", "marginals.levels"}, accepted);
    if (setting.name == "marginals.levels") {
      request.options.levels = setting.numbers();
    } else if (setting.value == "factorised" || setting.value == "one-step") {
      request.options.ep = setting.value == "one-step" ? EpMarginals::one_step : EpMarginals::factorised;
    } else {
      throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
    }
  }
  return request;
}

void check_rule(const ProbabilityGoal& goal, Index classes) {
  constexpr Index most = 3;
  if (goal.rule == ProbabilityRule::quadrature && classes > most) {
    throw InvalidOption(fmt::format(
        "--set predict.probability=quadrature: it goes up to {} classes, the model has {}; accepted: auto or qmc", most,
        classes));
  }
}

IntegrateOptions integrate_options(const LearnOptions& learning, const std::vector<Assignment>& settings) {
  IntegrateOptions options{.learning = learning};
  constexpr std::string_view accepted =
      "integrate.design (auto, grid or composite), integrate.fineness (0.1 to 100) and integrate.max_fits (a whole "
      "number >= 1)";
  for (const Assignment& setting : settings) {
    require_known(setting, {"integrate.design", "integrate.fineness", "integrate.max_fits"}, accepted);
    if (setting.name == "integrate.design" &&
        (setting.value == "auto" || setting.value == "grid" || setting.value == "composite")) {
      options.design = setting.value == "grid"        ? IntegrationDesign::grid
                       : setting.value == "composite" ? IntegrationDesign::composite
                                                      : IntegrationDesign::automatic;
      continue;
    }
    const double value = setting.name == "integrate.design" ? 0.0 : setting.numbers(1, "one number").front();
    if (setting.name == "integrate.fineness" && value >= 0.1 && value <= 100.0) {
      options.fineness = value;
    } else if (setting.name == "integrate.max_fits" && value >= 1.0 && value <= 1e9 && value == std::floor(value)) {
      options.max_fits = static_cast<int>(value);
    } else {
      throw InvalidOption(fmt::format("--set {}={}: accepted are {}", setting.name, setting.value, accepted));
    }
  }
  return options;
}

}  // namespace gaussmith::app
