#include "io/problem_file_network.hpp"

#include <fmt/format.h>

#include <limits>

namespace gaussmith {

namespace {

constexpr std::string_view network_type = "network";
constexpr std::string_view sparse_linear_type = "sparse-linear";

WeightPrior read_weights(const JsonNode& node) {
  try {
    return parse_weight_prior(node.text());
  } catch (const InvalidOption& error) {
    node.fail(error.what());
  }
}

LogVariancePrior read_log_variance(const JsonNode& node) {
  const Vector shape = node.numbers(2);
  return {shape(0), shape(1)};
}

/// {"NAME": [columns from 0], ...}
std::vector<InputGroup> read_groups(const JsonNode& node, Index columns) {
  if (!node.json().is_object()) node.fail("expected an object: the columns of every group, from 0, under its name");
  std::vector<InputGroup> groups;
  for (const auto& entry : node.json().items()) {
    const JsonNode list = node.at(entry.key());
    InputGroup group{.name = entry.key(), .inputs = {}};
    for (std::size_t j = 0; j < list.array_size(); ++j) group.inputs.push_back(list.element(j).integer(0, columns - 1));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

bool is_network_prior(const JsonNode& prior) {
  const auto type = prior.json().is_object() ? prior.find("type") : std::nullopt;
  return type && type->json().is_string() && (type->text() == network_type || type->text() == sparse_linear_type);
}

void read_network_prior(const JsonNode& node, NetworkModel& network) {
  const bool hidden = node.at("type").text() == network_type;
  std::vector<std::string> fields = {"type",   "inputs",      "names",       "weights",
                                     "groups", "scale_prior", "noise_prior", "intercept_sd"};
  if (hidden) fields.insert(fields.end(), {"units", "linear", "bias_sd", "output_scale", "output_degrees"});
  node.expect_fields(fields);
  network.inputs = node.at("inputs").matrix();
  if (network.inputs.size() == 0) node.at("inputs").fail("expected at least one row with at least one number");
  if (const auto names = node.find("names")) {
    network.input_names = names->texts();
  }
  NetworkPrior& prior = network.prior;
  if (!hidden) {
    prior.units = 0;
    prior.weights = WeightPrior::laplace;
  }
  if (const auto units = node.find("units"))
    prior.units = static_cast<int>(units->integer(1, std::numeric_limits<int>::max()));
  if (const auto weights = node.find("weights")) prior.weights = read_weights(*weights);
  if (const auto groups = node.find("groups")) prior.groups = read_groups(*groups, network.inputs.cols());
  if (const auto linear = node.find("linear")) prior.linear = linear->boolean();
  if (const auto scale = node.find("scale_prior")) prior.scale_prior = read_log_variance(*scale);
  if (const auto noise = node.find("noise_prior")) prior.noise_prior = read_log_variance(*noise);
  if (const auto bias = node.find("bias_sd")) prior.bias_sd = bias->number();
  if (const auto intercept = node.find("intercept_sd")) prior.intercept_sd = intercept->number();
  if (const auto scale = node.find("output_scale")) prior.output_scale = scale->number();
  if (const auto degrees = node.find("output_degrees")) prior.output_degrees = degrees->number();
}

}  // namespace gaussmith
