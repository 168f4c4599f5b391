#include "tables/network_options.hpp"

#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr std::string_view group_prefix = "network.group.";
constexpr Index most_units = std::numeric_limits<int>::max();

/// Settings of one number or of a mean and a standard deviation, and where they go.
struct PriorNumber {
  const char* name;
  double NetworkPrior::*member;
};
constexpr std::array<PriorNumber, 4> numbers_of_prior{{{"network.bias_sd", &NetworkPrior::bias_sd},
                                                       {"network.intercept_sd", &NetworkPrior::intercept_sd},
                                                       {"network.output_scale", &NetworkPrior::output_scale},
                                                       {"network.output_degrees", &NetworkPrior::output_degrees}}};
struct PriorOfScale {
  const char* name;
  LogVariancePrior NetworkPrior::*member;
};
constexpr std::array<PriorOfScale, 2> scales_of_prior{
    {{"network.scale_prior", &NetworkPrior::scale_prior}, {"network.noise_prior", &NetworkPrior::noise_prior}}};

std::vector<std::string> names_of_settings() {
  std::vector<std::string> names = {"network.linear"};
  for (const PriorOfScale& known : scales_of_prior) names.emplace_back(known.name);
  for (const PriorNumber& known : numbers_of_prior) names.emplace_back(known.name);
  return names;
}

bool yes_or_no(const ParameterSetting& setting, Spelling spelling) {
  const double number = setting.values.size() == 1 ? setting.values.front() : 0.5;
  if (setting.text == "yes" || setting.text == "true" || number == 1.0) return true;
  if (setting.text == "no" || setting.text == "false" || number == 0.0) return false;
  throw InvalidOption(fmt::format("{}: expected yes or no", setting_name(setting.name, spelling)));
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t start = 0; start <= text.size();) {
    const auto comma = std::min(text.find(',', start), text.size());
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  return parts;
}

/// The coded inputs of a column of the table, or the one coded input of that name.
std::vector<Index> inputs_of(const FeatureCoding& features, const std::string& name) {
  std::vector<Index> inputs;
  Index first = 0;
  for (const FeatureColumn& column : features.columns) {
    for (Index j = 0; j < column.width() && column.name == name; ++j) inputs.push_back(first + j);
    first += column.width();
  }
  if (!inputs.empty()) return inputs;
  const std::vector<std::string> coded = features.names();
  const auto found = std::find(coded.begin(), coded.end(), name);
  if (found != coded.end()) inputs.push_back(found - coded.begin());
  return inputs;
}

InputGroup group_of(const ParameterSetting& setting, const FeatureCoding& features, Spelling spelling) {
  InputGroup group{.name = setting.name.substr(group_prefix.size()), .inputs = {}};
  const std::string option = setting_name(setting.name, spelling);
  if (group.name.empty())
    throw InvalidOption(fmt::format("{}: a group needs a name, as in network.group.body=height,weight", option));
  if (setting.text.empty())
    throw InvalidOption(fmt::format("{}: expected the names of columns separated by commas", option));
  for (const std::string& name : split(setting.text)) {
    const std::vector<Index> inputs = inputs_of(features, name);
    if (inputs.empty()) {
      constexpr std::size_t most_listed = 40;
      const std::vector<std::string> coded = features.names();
      throw InvalidOption(fmt::format(
          "{}={}: there is no feature {}{}{}", option, setting.text, in_quotes(name), suggestion(name, coded),
          coded.size() > most_listed ? std::string() : fmt::format("; there are {}", fmt::join(coded, ", "))));
    }
    group.inputs.insert(group.inputs.end(), inputs.begin(), inputs.end());
  }
  return group;
}

/// Columns that code one factor share a scale, where no group has one of them already.
void add_factors(const FeatureCoding& features, std::vector<InputGroup>& groups) {
  const std::vector<InputGroup> given = groups;
  const auto is_grouped = [&](Index input) {
    return std::any_of(given.begin(), given.end(), [&](const InputGroup& group) {
      return std::find(group.inputs.begin(), group.inputs.end(), input) != group.inputs.end();
    });
  };
  Index first = 0;
  for (const FeatureColumn& column : features.columns) {
    InputGroup factor{.name = column.name, .inputs = {}};
    for (Index j = first; j < first + column.width(); ++j)
      if (!is_grouped(j)) factor.inputs.push_back(j);
    if (column.width() > 1 && static_cast<Index>(factor.inputs.size()) == column.width())
      groups.push_back(std::move(factor));
    first += column.width();
  }
}

/// Puts a setting where it belongs; false for one of another name.
bool take(const ParameterSetting& setting, const FeatureCoding& features, const Settings& settings, Spelling spelling,
          NetworkPrior& prior) {
  if (setting.name.starts_with(group_prefix)) {
    prior.groups.push_back(group_of(setting, features, spelling));
    return true;
  }
  if (setting.name == "network.linear") {
    prior.linear = yes_or_no(setting, spelling);
    return true;
  }
  for (const PriorOfScale& known : scales_of_prior) {
    if (setting.name != known.name) continue;
    const std::vector<double> shape = settings.numbers(setting);
    if (shape.size() != 2)
      throw InvalidOption(fmt::format("{}: found {} numbers; expected MEAN,SD of the logarithm of a variance",
                                      setting_name(setting.name, spelling), shape.size()));
    prior.*known.member = {shape[0], shape[1]};
    return true;
  }
  for (const PriorNumber& known : numbers_of_prior) {
    if (setting.name != known.name) continue;
    const std::vector<double> values = settings.numbers(setting);
    if (values.size() != 1)
      throw InvalidOption(fmt::format("{} takes one number", setting_name(setting.name, spelling)));
    prior.*known.member = values.front();
    return true;
  }
  return false;
}

[[noreturn]] void refuse(const ParameterSetting& setting, Spelling spelling) {
  std::vector<std::string> names = names_of_settings();
  const std::string accepted = fmt::format("{}", fmt::join(names, ", "));
  for (const MethodOptionInfo& option : network_options()) names.push_back(option.name);
  throw InvalidOption(fmt::format(
      "{}: a network has no such parameter{}; accepted: {}, network.group.NAME and the options of its method",
      setting_name(setting.name, spelling), suggestion(setting.name, names), accepted));
}

}  // namespace

void check_network(const TableModelOptions& options, const LikelihoodInfo& likelihood) {
  const auto name = [&](std::string_view field) { return option_name(field, options.spelling); };
  const bool command_line = options.spelling == Spelling::command_line;
  const std::string prior = name("prior") + " " + options.prior;
  const bool hidden = options.prior == "network";
  if (options.units && !hidden)
    throw InvalidOption(
        fmt::format("{} belongs to {} network; {} has no hidden units", name("units"), name("prior"), options.prior));
  if (options.units && (*options.units < 1 || *options.units > most_units))
    throw InvalidOption(fmt::format("{} {}: expected 1 or more; without hidden units it is {} sparse-linear",
                                    name("units"), *options.units, name("prior")));
  if (!options.weight_prior.empty()) {
    try {
      static_cast<void>(parse_weight_prior(options.weight_prior));
    } catch (const InvalidOption& error) {
      throw InvalidOption(
          fmt::format("{} {}: beside {} it names the prior of the input weights, and rows have no "
                      "weights there: {}",
                      command_line ? "--weights" : "weight_prior", options.weight_prior, prior, error.what()));
    }
  }
  if (!options.weights_column.empty())
    throw InvalidOption(fmt::format("{}: rows of a network have no weights", name("weights_column")));
  const char* const without = !options.kernel.empty()               ? "kernel"
                              : !options.random.empty()             ? "random"
                              : !options.field.empty()              ? "field"
                              : !options.coefficient_priors.empty() ? "coefficient_prior"
                              : !options.intercept                  ? "no_intercept"
                              : options.mean != 0.0                 ? "mean"
                                                                    : nullptr;
  if (without != nullptr)
    throw InvalidOption(fmt::format("{}: {} does not have it; its inputs are the features and its intercept is free",
                                    name(without), prior));
  if (likelihood.traits.response == ResponseKind::label)
    throw InvalidOption(fmt::format("{} {}: {} has one latent function a row; use bernoulli-probit of two classes",
                                    name("likelihood"), likelihood.traits.name, prior));
  for (const SiteArgumentInfo& argument : likelihood.arguments)
    if (argument.learnable && !likelihood.traits.gaussian)
      throw InvalidOption(fmt::format(
          "{} {}: it has a free parameter, {}; {} takes gaussian, whose variance it integrates, or a likelihood that "
          "has none (bernoulli-probit, bernoulli-logit, binomial-logit, poisson, exponential)",
          name("likelihood"), likelihood.traits.name, argument.name, prior));
}

NetworkPrior network_prior(const TableModelOptions& options, const FeatureCoding& features, Settings& settings) {
  NetworkPrior prior;
  const bool hidden = options.prior == "network";
  if (!hidden) prior.units = 0;
  if (options.units) prior.units = static_cast<int>(*options.units);
  prior.weights = !options.weight_prior.empty() ? parse_weight_prior(options.weight_prior)
                  : hidden                      ? WeightPrior::ard
                                                : WeightPrior::laplace;
  settings.offer([&](const ParameterSetting& setting) {
    if (!take(setting, features, settings, options.spelling, prior)) refuse(setting, options.spelling);
    return true;
  });
  if (prior.weights == WeightPrior::ard || prior.weights == WeightPrior::laplace_ard)
    add_factors(features, prior.groups);
  return prior;
}

}  // namespace gaussmith
