// The catalogue asked by name.

#include "gaussmith/sites.hpp"

#include <algorithm>

namespace gaussmith {

const SiteArgumentInfo* LikelihoodInfo::find(std::string_view argument) const {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const SiteArgumentInfo& a) { return a.name == argument; });
  return found == arguments.end() ? nullptr : &*found;
}

const LikelihoodInfo* find_likelihood(std::string_view name) {
  const std::vector<LikelihoodInfo>& lines = likelihood_catalogue();
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const LikelihoodInfo& line) { return line.traits.name == name; });
  return found == lines.end() ? nullptr : &*found;
}

const SiteArgumentInfo* find_argument(const SiteBlock& sites, std::string_view argument) {
  const LikelihoodInfo* line = find_likelihood(sites.traits().name);
  return line == nullptr ? nullptr : line->find(argument);
}

Vector censored_rows(const SiteBlock& sites) {
  for (const SiteParameter& parameter : sites.parameters()) {
    const SiteArgumentInfo* info = find_argument(sites, parameter.name);
    if (info != nullptr && info->role == ArgumentRole::censoring)
      return parameter.values.size() == 1 ? Vector::Constant(sites.size(), parameter.values[0]) : parameter.values;
  }
  return {};
}

EventCounts count_events(const std::vector<std::shared_ptr<const SiteBlock>>& blocks) {
  EventCounts out;
  for (const auto& block : blocks) {
    const Vector flags = censored_rows(*block);
    const Index censored = (flags.array() > 0.5).count();
    out.censored += censored;
    out.events += flags.size() - censored;
  }
  return out;
}

const std::vector<ColumnArgument>& column_arguments() {
  static const std::vector<ColumnArgument> all = [] {
    std::vector<ColumnArgument> columns;
    for (const LikelihoodInfo& line : likelihood_catalogue()) {
      for (const SiteArgumentInfo& argument : line.arguments) {
        if (!argument.column) continue;
        auto known = std::find_if(columns.begin(), columns.end(),
                                  [&](const ColumnArgument& c) { return c.info->name == argument.name; });
        if (known == columns.end()) known = columns.insert(columns.end(), {&argument, {}});
        known->likelihoods.push_back(line.traits.name);
      }
    }
    return columns;
  }();
  return all;
}

const SiteArgumentInfo* find_column_argument(std::string_view name) {
  for (const ColumnArgument& known : column_arguments()) {
    if (known.info->name == name) return known.info;
  }
  return nullptr;
}

}  // namespace gaussmith
