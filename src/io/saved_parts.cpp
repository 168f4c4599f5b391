#include "io/saved_parts.hpp"

#include "io/problem_file_latents.hpp"
#include "io/problem_file_parts.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

namespace gaussmith {

namespace {

bool is_catalogued(const SiteBlock& block) {
  const LikelihoodInfo* info = find_likelihood(block.traits().name);
  if (info == nullptr) {
    return false;
  }
  SiteArguments arguments;
  for (const SiteParameter& parameter : block.parameters()) {
    arguments[parameter.name] = one(parameter.values[0]);
  }
  try {
    const Sites made = observe(info->traits.name, one(placeholder_response(info->traits.response)), arguments);
    const SiteBlock& known = *made;
    return typeid(known) == typeid(block);
  } catch (const InvalidInput&) {
    return false;
  }
}

}  // namespace

void require_finite(const Vector& values, const char* what) {
  if (!values.allFinite()) {
    throw InvalidModel(fmt::format("the fitted {} is not finite; such a model cannot be saved", what));
  }
}

void require_catalogued(const SiteBlock& block) {
  if (!is_catalogued(block)) {
    throw InvalidModel(
        fmt::format("likelihood {}: only those of the catalogue can be saved, not sites made from functions",
                    in_quotes(block.traits().name)));
  }
}

nlohmann::ordered_json block_json(const SiteBlock& block, const std::vector<std::string>& row_arguments) {
  nlohmann::ordered_json out;
  out["type"] = block.traits().name;
  for (const SiteParameter& parameter : block.parameters()) {
    out[parameter.name] = parameter.values[0];
  }
  out["row_arguments"] = row_arguments;
  return out;
}

SavedBlock read_saved_block(const JsonNode& node) {
  const LikelihoodInfo& info = read_likelihood(node);
  std::vector<std::string> names;
  for (const auto& argument : info.arguments) {
    names.push_back(argument.name);
  }
  std::vector<std::string> fields = names;
  fields.insert(fields.begin(), {"type", "row_arguments"});
  node.expect_fields(fields);
  SiteArguments arguments;
  for (const std::string& name : names) {
    if (const auto given = node.find(name)) {
      const bool classes = info.traits.response == ResponseKind::label;
      arguments[name] = one(classes ? static_cast<double>(given->integer(2, max_latents)) : given->number());
    }
  }
  SavedBlock block{.likelihood = nullptr, .row_arguments = node.at("row_arguments").texts()};
  for (const std::string& name : block.row_arguments) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      node.at("row_arguments").fail(fmt::format("the likelihood has no argument {}", in_quotes(name)));
    }
  }
  try {
    // Saved blocks keep no data, only their likelihood.
    block.likelihood = observe(info.traits.name, one(placeholder_response(info.traits.response)), arguments);
  } catch (const InvalidModel& error) {
    node.fail(error.what());
  }
  return block;
}

nlohmann::ordered_json lower_json(const Matrix& factor) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (Index i = 0; i < factor.rows(); ++i) {
    out.push_back(vector_json(factor.row(i).head(i + 1)));
  }
  return out;
}

Matrix read_lower(const JsonNode& node) {
  const auto size = static_cast<Index>(node.array_size());
  Matrix factor = Matrix::Zero(size, size);
  for (Index i = 0; i < size; ++i) {
    const JsonNode row = node.element(static_cast<std::size_t>(i));
    factor.row(i).head(i + 1) = row.numbers(i + 1);
    if (!(factor(i, i) > 0.0)) {
      row.fail(fmt::format("expected a positive diagonal, found {}", factor(i, i)));
    }
  }
  return factor;
}

}  // namespace gaussmith
