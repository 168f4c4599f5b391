#include "gaussmith/starts.hpp"

#include "learn/free_parameters.hpp"
#include "model/parameter_names.hpp"

#include <algorithm>
#include <map>

namespace gaussmith {

namespace {

std::vector<std::string> entries_of(const Model& model, const std::string& name) {
  std::vector<std::string> entries;
  for (const Parameter& parameter : model.parameters())
    if (parameter.name.starts_with(name + "[") && parameter.name.find('.', name.size()) == std::string::npos)
      entries.push_back(parameter.name);
  return entries;
}

}  // namespace

std::vector<std::string> full_names(const Model& model, const std::string& name) {
  std::vector<std::string> entries = entries_of(model, name);
  return entries.empty() ? std::vector<std::string>{model.resolve_parameter(name)} : entries;
}

Model started_inside(const Model& model, const LearnOptions& options, const std::vector<std::string>& given) {
  const ParameterNames names(model);
  std::map<std::string, double, std::less<>> moved;
  for (const Parameter& parameter : model.parameters()) {
    const auto own = options.bounds.find(parameter.name);
    if (own == options.bounds.end()) continue;
    const auto& [lower, upper] = own->second;
    // learn() says what is wrong with such bounds.
    if (!is_inside(parameter.scale, lower) || !is_inside(parameter.scale, upper) || !(lower < upper)) continue;
    const auto is_given = [&](const std::string& name) {
      const std::vector<std::string> entries = entries_of(model, name);
      if (!entries.empty()) return std::find(entries.begin(), entries.end(), parameter.name) != entries.end();
      return names.find(name) == parameter.name;
    };
    const double inside = std::clamp(parameter.value, lower, upper);
    if (inside != parameter.value && std::none_of(given.begin(), given.end(), is_given)) moved[parameter.name] = inside;
  }
  return moved.empty() ? model : model.with_parameters(moved);
}

}  // namespace gaussmith
