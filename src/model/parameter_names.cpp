#include "model/parameter_names.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gaussmith {
namespace {

constexpr std::size_t most_listed = 20;

}  // namespace

ParameterNames::ParameterNames(const Model& model) : one_block_(model.sites.size() == 1) {
  for (Parameter& parameter : model.parameters()) names_.push_back(std::move(parameter.name));
  known_.insert(names_.begin(), names_.end());
}

std::optional<std::string> ParameterNames::find(std::string_view name) const {
  constexpr std::string_view short_form = "likelihood.";
  std::string full(name);
  if (one_block_ && name.starts_with(short_form)) full.replace(0, short_form.size(), "sites[0].");
  if (known_.contains(full)) return full;
  // The precision of a field that is the only one beside other parts.
  if (name == "prior.precision" && known_.contains("fields[0].precision") && !known_.contains("fields[1].precision"))
    return "fields[0].precision";
  return std::nullopt;
}

std::string ParameterNames::resolve(std::string_view name) const {
  if (std::optional<std::string> full = find(name)) return std::move(*full);
  if (names_.empty()) throw InvalidOption(fmt::format("there is no parameter {}: the model has none", name));
  const auto listed = std::min(names_.size(), most_listed);
  throw InvalidOption(
      fmt::format("there is no parameter {}{}; the model has {}{}", name, suggestion(name, names_),
                  fmt::join(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                  names_.size() > listed ? fmt::format(" and {} more", names_.size() - listed) : std::string()));
}

}  // namespace gaussmith
