#include "io/problem_file_kernel.hpp"

#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

namespace {

KernelHandle read_terms(const JsonNode& node, const std::string& type) {
  node.expect_fields({"type", "terms", "columns"});
  const JsonNode list = node.at("terms");
  const std::size_t count = list.array_size();
  if (count == 0) {
    list.fail("a sum or product needs at least one kernel");
  }
  std::vector<KernelHandle> terms;
  for (std::size_t i = 0; i < count; ++i) {
    terms.push_back(read_kernel(list.element(i), -1));
  }
  return type == "sum" ? sum(std::move(terms)) : product(std::move(terms));
}

KernelHandle read_family(const JsonNode& node, const std::string& type) {
  const auto& catalogue = kernel_catalogue();
  const auto info = std::find_if(catalogue.begin(), catalogue.end(), [&](const auto& i) { return i.name == type; });
  if (info == catalogue.end()) {
    std::vector<std::string> names;
    for (const auto& known : catalogue) {
      if (known.name != "sum" && known.name != "product") {
        names.emplace_back(known.name);
      }
    }
    names.emplace_back("sum");
    names.emplace_back("product");
    node.at("type").fail(
        fmt::format("unknown kernel {}{}; accepted: {}", in_quotes(type), suggestion(type, names), list_of(names)));
  }
  std::vector<std::string> fields = {"type", "columns"};
  for (const auto& argument : info->arguments) {
    fields.emplace_back(argument.name);
  }
  node.expect_fields(fields);
  KernelArguments arguments;
  for (const auto& argument : info->arguments) {
    if (const auto given = node.find(argument.name)) {
      const Vector values = given->number_or_numbers();
      arguments[std::string(argument.name)] = std::vector<double>(values.begin(), values.end());
    }
  }
  return make_kernel(type, arguments);
}

std::vector<Index> read_columns(const JsonNode& node) {
  std::vector<Index> columns;
  for (std::size_t i = 0; i < node.array_size(); ++i) {
    columns.push_back(node.element(i).integer(0, max_declared_size));
  }
  return columns;
}

}  // namespace

KernelHandle read_kernel(const JsonNode& node, Index columns) {
  const std::string type = node.at("type").text();
  try {
    KernelHandle kernel = type == "sum" || type == "product" ? read_terms(node, type) : read_family(node, type);
    if (const auto chosen = node.find("columns")) {
      kernel = on_columns(std::move(kernel), read_columns(*chosen));
    }
    if (columns >= 0) {
      kernel->check_dimension(columns);
    }
    return kernel;
  } catch (const InvalidModel& error) {
    node.fail(error.what());
  }
}

nlohmann::ordered_json kernel_json(const Kernel& kernel) {
  nlohmann::ordered_json out;
  out["type"] = std::string(kernel.name());
  if (const auto columns = kernel.columns(); !columns.empty()) {
    out["columns"] = columns;
  }
  const auto terms = kernel.terms();
  if (!terms.empty()) {
    out["terms"] = nlohmann::ordered_json::array();
    for (const auto& term : terms) {
      out["terms"].push_back(kernel_json(*term));
    }
    return out;
  }
  for (const auto& parameter : kernel.parameters()) {
    const auto bracket = parameter.name.find('[');
    if (bracket == std::string::npos) {
      out[parameter.name] = parameter.value;
    } else {
      out[parameter.name.substr(0, bracket)].push_back(parameter.value);
    }
  }
  return out;
}

}  // namespace gaussmith
