#include "engines/options.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

namespace gaussmith {

namespace {

/// What the catalogue says of a method beside its options.
struct Entry {
  Method prototype;
  const char* name;
  const char* evidence;
  const char* sites;
  const char* summary;
};

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {Exact{}, "exact", "exact", "gaussian", "Closed form for Gaussian sites"},
      {Laplace{}, "laplace", "approximation", "smooth",
       "Gaussian at a posterior mode with the curvature there; the cheapest, and a mode for every smooth site"},
  };
  return all;
}

double parse_number(std::string_view name, const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidOption(fmt::format("{} must be a number, found \"{}\"", name, text));
  return value;
}

void assign(int& member, double value, std::string_view name) {
  if (value != std::floor(value)) throw InvalidOption(fmt::format("{} must be a whole number, found {}", name, value));
  member = static_cast<int>(value);
}
void assign(double& member, double value, std::string_view /*name*/) { member = value; }

const Entry& entry_of(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  throw InvalidOption(fmt::format("there is no method {}; there are {}", name, fmt::join(known, ", ")));
}

}  // namespace

Method make_method(std::string_view name, const std::map<std::string, std::string, std::less<>>& options) {
  const Entry& entry = entry_of(name);
  Method method = entry.prototype;
  std::visit(
      [&](auto& chosen) {
        std::vector<std::string> known;
        auto left = options;
        fields(chosen, [&](const char* field, auto& member, double lowest, double highest, const char*) {
          const std::string full = fmt::format("{}.{}", name, field);
          known.push_back(full);
          const auto it = left.find(full);
          if (it == left.end()) return;
          const double value = parse_number(full, it->second);
          if (value < lowest || value > highest)
            throw InvalidOption(fmt::format("{} must lie in [{}, {}], found {}", full, lowest, highest, value));
          assign(member, value, full);
          left.erase(it);
        });
        if (!left.empty())
          throw InvalidOption(known.empty() ? fmt::format("{} has no option {}: it has none", name, left.begin()->first)
                                            : fmt::format("{} has no option {}; it has {}", name, left.begin()->first,
                                                          fmt::join(known, ", ")));
      },
      method);
  return method;
}

void check_options(const Method& method) {
  Method copy = method;
  std::visit(
      [&](auto& chosen) {
        fields(chosen, [&](const char* field, auto& member, double lowest, double highest, const char*) {
          const auto value = static_cast<double>(member);
          if (!(value >= lowest && value <= highest))
            throw InvalidOption(
                fmt::format("{}.{} must lie in [{}, {}], found {}", name_of(method), field, lowest, highest, value));
        });
      },
      copy);
}

const std::vector<MethodInfo>& method_catalogue() {
  static const std::vector<MethodInfo> catalogue = [] {
    std::vector<MethodInfo> all;
    for (const Entry& entry : entries()) {
      MethodInfo info{entry.name, entry.evidence, entry.sites, entry.summary, {}};
      Method prototype = entry.prototype;
      std::visit(
          [&](auto& chosen) {
            fields(chosen, [&](const char* field, auto& member, double lowest, double highest, const char* help) {
              info.options.push_back({fmt::format("{}.{}", entry.name, field), fmt::format("{}", member),
                                      fmt::format("[{}, {}]", lowest, highest), help});
            });
          },
          prototype);
      all.push_back(std::move(info));
    }
    return all;
  }();
  return catalogue;
}

std::string_view name_of(const Method& method) { return entries()[method.index()].name; }

}  // namespace gaussmith
