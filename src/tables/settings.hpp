#pragma once
// Values that options give to parameters of a model under construction.

#include "base/spelling.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/table_model.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace gaussmith {

/// The settings of parameters, each to be taken by the part of the model that has it.
class Settings {
 public:
  explicit Settings(const TableModelOptions& options) : spelling_(options.spelling) {
    for (const ParameterSetting& setting : options.parameters) open_.push_back(&setting);
  }

  /// Hands every open setting to `take`, which answers whether the parameter is its own.
  template <class Take>
  void offer(const Take& take) {
    std::erase_if(open_, [&](const ParameterSetting* setting) { return take(*setting); });
  }

  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(open_.begin(), open_.end(), [&](const ParameterSetting* s) { return s->name == name; });
  }

  /// The one number set for a parameter under either of its names; nothing if none is.
  std::optional<double> number(const std::string& name, const std::string& other_name = {}) {
    std::optional<double> found;
    offer([&](const ParameterSetting& setting) {
      if (setting.name != name && setting.name != other_name) return false;
      const std::vector<double> values = numbers(setting);
      if (values.size() != 1) {
        throw InvalidOption(fmt::format("{} takes one number", setting_name(name, spelling_)));
      }
      found = values.front();
      return true;
    });
    return found;
  }

  /// The same for a text.
  std::optional<std::string> text(const std::string& name, const std::string& other_name = {}) {
    std::optional<std::string> found;
    offer([&](const ParameterSetting& setting) {
      if (setting.name != name && setting.name != other_name) return false;
      found = setting.text;
      return true;
    });
    return found;
  }

  [[nodiscard]] std::vector<double> numbers(const ParameterSetting& setting) const {
    return setting.values.empty() ? parse_numbers(setting.text, setting_name(setting.name, spelling_)) : setting.values;
  }

  /// Throws InvalidOption for the first setting that nothing took, listing what there is.
  void refuse_open(const Model& model) const {
    if (open_.empty()) return;
    constexpr std::string_view first_block = "sites[0].";
    std::vector<std::string> names;
    // Sites after the first are those of a laplace prior, which has names of its own here.
    const bool prior_sites = std::holds_alternative<NoGaussian>(model.prior);
    if (prior_sites) names = {"prior.scale", "prior.variance (instead of prior.scale)"};
    for (const Parameter& parameter : model.parameters()) {
      if (parameter.name.starts_with(first_block)) {
        names.push_back("likelihood." + parameter.name.substr(first_block.size()));
      } else if (!prior_sites) {
        names.push_back(parameter.name);
      }
    }
    // Methods have too many options for one line; a near one is suggested all the same.
    const std::string parameters = fmt::format("{}", fmt::join(names, ", "));
    for (const auto& info : method_catalogue()) {
      for (const auto& option : info.options) names.push_back(option.name);
    }
    throw InvalidOption(fmt::format("{}: there is no such parameter{}; accepted: {} and the options of methods",
                                    setting_name(open_.front()->name, spelling_),
                                    suggestion(open_.front()->name, names), parameters));
  }

 private:
  std::vector<const ParameterSetting*> open_;
  Spelling spelling_;
};

}  // namespace gaussmith
