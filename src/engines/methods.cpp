#include "engines/engines.hpp"
#include "engines/options.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>

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

template <class Options>
Entry entry() {
  using E = Engine<Options>;
  return {Options{}, E::name, E::evidence, E::sites, E::summary};
}

template <class... Options>
std::vector<Entry> entries_of(std::type_identity<std::variant<Options...>> /*methods*/) {
  return {entry<Options>()...};
}

/// In the order of the variant.
const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = entries_of(std::type_identity<Method>{});
  return all;
}

std::string full_name(std::string_view method, std::string_view field) {
  return field.find('.') != std::string_view::npos ? std::string(field) : fmt::format("{}.{}", method, field);
}

const Entry& entry_of(std::string_view name) {
  std::vector<std::string> known;
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
    known.emplace_back(entry.name);
  }
  throw InvalidOption(
      fmt::format("there is no method {}{}; there are {}", name, suggestion(name, known), fmt::join(known, ", ")));
}

}  // namespace

Method make_method(std::string_view name, const std::map<std::string, std::string, std::less<>>& options) {
  const Entry& entry = entry_of(name);
  Method method = entry.prototype;
  std::visit(
      [&](auto& chosen) {
        std::vector<std::string> known;
        auto left = options;
        fields(chosen, [&](const char* field, auto& member, const auto& domain, const char*) {
          const std::string full = full_name(name, field);
          known.push_back(full);
          const auto it = left.find(full);
          if (it == left.end()) return;
          assign(member, domain, full, it->second);
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
        fields(chosen, [&](const char* field, auto& member, const auto& domain, const char*) {
          check(member, domain, full_name(name_of(method), field));
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
            fields(chosen, [&](const char* field, auto& member, const auto& domain, const char* help) {
              info.options.push_back({full_name(entry.name, field), written(member, domain), describe(domain), help});
            });
          },
          prototype);
      all.push_back(std::move(info));
    }
    return all;
  }();
  return catalogue;
}

std::vector<std::pair<std::string, std::string>> options_of(const Method& method, bool only_changed) {
  Method copy = method;
  std::vector<std::pair<std::string, std::string>> all;
  std::visit(
      [&](auto& chosen) {
        fields(chosen, [&](const char* field, auto& member, const auto& domain, const char*) {
          all.emplace_back(full_name(name_of(method), field), written(member, domain));
        });
      },
      copy);
  if (!only_changed) return all;
  const auto usual = options_of(entries()[method.index()].prototype);
  std::vector<std::pair<std::string, std::string>> changed;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i] != usual[i]) changed.push_back(all[i]);
  return changed;
}

std::string_view name_of(const Method& method) { return entries()[method.index()].name; }

}  // namespace gaussmith
