#include "io/saved_network.hpp"

#include "io/problem_file_parts.hpp"
#include "io/saved_parts.hpp"

#include <fmt/format.h>

#include <set>

namespace gaussmith {

namespace {

using Json = nlohmann::ordered_json;

// --- Writing ---

Json unit_json(const UnitWeights& unit) {
  require_finite(unit.mean, "mean of the weights");
  Json out;
  out["mean"] = vector_json(unit.mean);
  if (unit.covariance.size() > 0) {
    require_finite(unit.covariance.reshaped(), "covariance of the weights");
    out["covariance"] = lower_json(unit.covariance);
    return out;
  }
  require_finite(unit.diagonal, "covariance of the weights");
  require_finite(unit.basis.reshaped(), "covariance of the weights");
  require_finite(unit.sign, "covariance of the weights");
  out["diagonal"] = vector_json(unit.diagonal);
  out["basis"] = matrix_json(unit.basis);
  out["sign"] = vector_json(unit.sign);
  return out;
}

Json start_json(const FittedStart& start) {
  require_finite(start.output_mean, "mean of the output weights");
  require_finite(start.output_covariance.reshaped(), "covariance of the output weights");
  Json out;
  out["weight"] = start.weight;
  out["linear"] = unit_json(start.linear);
  out["units"] = Json::array();
  for (const UnitWeights& unit : start.units) out["units"].push_back(unit_json(unit));
  out["output_mean"] = vector_json(start.output_mean);
  out["output_covariance"] = lower_json(start.output_covariance);
  out["noise_mean"] = start.noise_mean;
  out["noise_sd"] = start.noise_sd;
  return out;
}

// --- Reading ---

double read_above(const JsonNode& node, double lowest, bool itself) {
  const double value = node.number();
  if (!(itself ? value >= lowest : value > lowest))
    node.fail(fmt::format("expected a number {} {}, found {}", itself ? "of at least" : "above", lowest, value));
  return value;
}

Matrix read_covariance(const JsonNode& node, Index size) {
  const Matrix lower = read_lower(node);
  if (lower.rows() != size) node.fail(fmt::format("expected {} rows, found {}", size, lower.rows()));
  return lower.selfadjointView<Eigen::Lower>();
}

UnitWeights read_unit(const JsonNode& node, Index size) {
  node.expect_fields({"mean", "covariance", "diagonal", "basis", "sign"});
  UnitWeights unit;
  unit.mean = node.at("mean").numbers(size);
  if (const auto covariance = node.find("covariance")) {
    for (const char* other : {"diagonal", "basis", "sign"})
      if (const auto given = node.find(other)) given->fail("goes with a covariance by its parts, not beside it");
    unit.covariance = read_covariance(*covariance, size);
    return unit;
  }
  unit.diagonal = node.at("diagonal").numbers(size);
  if ((unit.diagonal.array() <= 0.0).any()) node.at("diagonal").fail("expected positive numbers");
  unit.basis = node.at("basis").matrix();
  if (unit.basis.rows() != size)
    node.at("basis").fail(fmt::format("expected {} rows, found {}", size, unit.basis.rows()));
  unit.sign = node.at("sign").numbers(unit.basis.cols());
  if ((unit.sign.cwiseAbs().array() != 1.0).any()) node.at("sign").fail("expected 1 or -1");
  return unit;
}

FittedStart read_start(const JsonNode& node, const FittedNetwork& network) {
  node.expect_fields({"weight", "linear", "units", "output_mean", "output_covariance", "noise_mean", "noise_sd"});
  const auto inputs = static_cast<Index>(network.inputs.size());
  FittedStart start;
  start.weight = read_above(node.at("weight"), 0.0, false);
  start.linear = read_unit(node.at("linear"), (network.linear ? inputs : 0) + 1);
  const JsonNode units = node.at("units");
  for (std::size_t k = 0; k < units.array_size(); ++k) start.units.push_back(read_unit(units.element(k), inputs + 1));
  const auto count = static_cast<Index>(start.units.size());
  start.output_mean = node.at("output_mean").numbers(count);
  start.output_covariance = read_covariance(node.at("output_covariance"), count);
  start.noise_mean = node.at("noise_mean").number();
  start.noise_sd = read_above(node.at("noise_sd"), 0.0, true);
  return start;
}

}  // namespace

Json network_json(const FittedNetwork& network) {
  require_catalogued(*network.likelihood);
  require_finite(network.input_centre, "centre of the inputs");
  require_finite(network.input_scale, "scale of the inputs");
  Json out;
  out["input_count"] = network.input_count;
  out["inputs"] = network.inputs;
  out["input_centre"] = vector_json(network.input_centre);
  out["input_scale"] = vector_json(network.input_scale);
  out["linear"] = network.linear;
  out["response_centre"] = network.response_centre;
  out["response_scale"] = network.response_scale;
  out["likelihood"] = block_json(*network.likelihood, network.row_arguments);
  out["starts"] = Json::array();
  for (const FittedStart& start : network.starts) out["starts"].push_back(start_json(start));
  return out;
}

FittedNetwork read_network(const JsonNode& node) {
  node.expect_fields({"input_count", "inputs", "input_centre", "input_scale", "linear", "response_centre",
                      "response_scale", "likelihood", "starts"});
  FittedNetwork network;
  network.input_count = node.at("input_count").integer(1, max_declared_size);
  const JsonNode inputs = node.at("inputs");
  std::set<Index> seen;
  for (std::size_t j = 0; j < inputs.array_size(); ++j) {
    network.inputs.push_back(inputs.element(j).integer(0, network.input_count - 1));
    if (!seen.insert(network.inputs.back()).second)
      inputs.element(j).fail(fmt::format("{} stands there before; each may stand once", network.inputs.back()));
  }
  if (network.inputs.empty()) inputs.fail("expected at least one input");
  const auto count = static_cast<Index>(network.inputs.size());
  network.input_centre = node.at("input_centre").numbers(count);
  network.input_scale = node.at("input_scale").numbers(count);
  if ((network.input_scale.array() <= 0.0).any()) node.at("input_scale").fail("expected positive numbers");
  network.linear = node.at("linear").boolean();
  network.response_centre = node.at("response_centre").number();
  network.response_scale = read_above(node.at("response_scale"), 0.0, false);
  SavedBlock block = read_saved_block(node.at("likelihood"));
  if (block.likelihood->width() != 1) node.at("likelihood").fail("a network has one latent a row");
  network.likelihood = std::move(block.likelihood);
  network.row_arguments = std::move(block.row_arguments);
  const JsonNode starts = node.at("starts");
  for (std::size_t r = 0; r < starts.array_size(); ++r)
    network.starts.push_back(read_start(starts.element(r), network));
  if (network.starts.empty()) starts.fail("expected at least one start");
  return network;
}

}  // namespace gaussmith
