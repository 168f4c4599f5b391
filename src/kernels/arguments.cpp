#include "kernels/arguments.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

std::string comma_separated(const std::vector<std::string_view>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

void check_parameter(std::string_view name, double value) {
  if (!(value > 0.0) || !std::isfinite(value)) {
    throw InvalidModel(fmt::format("kernel.{} must be positive and finite, found {}", name, value));
  }
  if (value < smallest_parameter || value > largest_parameter) {
    throw InvalidModel(fmt::format("kernel.{} must lie between {} and {}, found {}", name, smallest_parameter,
                                   largest_parameter, value));
  }
}

void check_parameters(std::string_view kernel, const std::vector<KernelParameter>& parameters, ConstSpan values) {
  if (values.size() != parameters.size()) {
    throw InvalidModel(
        fmt::format("kernel {} has {} parameters, found {} values", kernel, parameters.size(), values.size()));
  }
  for (std::size_t p = 0; p < values.size(); ++p) check_parameter(parameters[p].name, values[p]);
}

ArgumentValues resolve_arguments(const KernelInfo& info, const KernelArguments& arguments) {
  for (const auto& given : arguments) {
    const std::string& name = given.first;
    const bool known =
        std::any_of(info.arguments.begin(), info.arguments.end(), [&](const auto& a) { return a.name == name; });
    if (known) continue;
    std::vector<std::string_view> accepted;
    for (const auto& argument : info.arguments) accepted.push_back(argument.name);
    throw InvalidModel(
        fmt::format("kernel {} has no argument \"{}\"; it accepts {}", info.name, name, comma_separated(accepted)));
  }
  ArgumentValues resolved;
  for (const auto& argument : info.arguments) {
    const auto given = arguments.find(argument.name);
    if (given == arguments.end()) {
      resolved.push_back({argument.default_value});
      continue;
    }
    const std::vector<double>& values = given->second;
    if (values.empty()) {
      throw InvalidModel(fmt::format("kernel.{} has no value; it takes {}", argument.name,
                                     argument.per_dimension ? "one, or one for each input column" : "one"));
    }
    if (values.size() > 1 && !argument.per_dimension) {
      throw InvalidModel(fmt::format("kernel.{} takes one value, found {}", argument.name, values.size()));
    }
    for (std::size_t k = 0; k < values.size(); ++k) {
      check_parameter(values.size() == 1 ? std::string(argument.name) : fmt::format("{}[{}]", argument.name, k),
                      values[k]);
    }
    resolved.push_back(values);
  }
  return resolved;
}

}  // namespace gaussmith
