#include "engines/engines.hpp"
#include "engines/options.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/infer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
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

double parse_number(std::string_view name, const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    throw InvalidOption(fmt::format("{} must be a number, found \"{}\"", name, text));
  return value;
}

// What a kind of option needs: how it is written down, whether a value is allowed, and how text becomes a value.

std::string describe(const Range& range) {
  return fmt::format("{}{}, {}]", range.above ? "(" : "[", range.lowest, range.highest);
}

template <class Number>
void check(const Number& member, const Range& range, const std::string& name) {
  const auto value = static_cast<double>(member);
  const bool low_enough = value <= range.highest;
  const bool high_enough = range.above ? value > range.lowest : value >= range.lowest;
  if (!(low_enough && high_enough))
    throw InvalidOption(fmt::format("{} must lie in {}, found {}", name, describe(range), value));
}

template <class Number>
void assign(Number& member, const Range& range, const std::string& name, const std::string& text) {
  const double value = parse_number(name, text);
  check(value, range, name);
  if (std::is_integral_v<Number> && value != std::floor(value))
    throw InvalidOption(fmt::format("{} must be a whole number, found {}", name, value));
  member = static_cast<Number>(value);
}

template <class Number>
std::string written(const Number& member, const Range& /*range*/) {
  return fmt::format("{}", member);
}

template <class Value, std::size_t count>
std::string describe(const Choices<Value, count>& choices) {
  std::vector<std::string_view> names;
  for (const auto& choice : choices.all) names.emplace_back(choice.name);
  return fmt::format("{}", fmt::join(names, " | "));
}

template <class Value, std::size_t count>
void check(const Value& member, const Choices<Value, count>& choices, const std::string& name) {
  for (const auto& choice : choices.all)
    if (choice.value == member) return;
  throw InvalidOption(fmt::format("{} must be {}, found a value without a name", name, describe(choices)));
}

template <class Value, std::size_t count>
void assign(Value& member, const Choices<Value, count>& choices, const std::string& name, const std::string& text) {
  for (const auto& choice : choices.all) {
    if (choice.name != text) continue;
    member = choice.value;
    return;
  }
  throw InvalidOption(fmt::format("{} must be {}, found \"{}\"", name, describe(choices), text));
}

template <class Value, std::size_t count>
std::string written(const Value& member, const Choices<Value, count>& choices) {
  for (const auto& choice : choices.all)
    if (choice.value == member) return choice.name;
  return "";
}

std::string describe(const Text& text) { return text.form; }

void check(const std::string& member, const Text& text, const std::string& /*name*/) { text.check(member); }

void assign(std::string& member, const Text& text, const std::string& /*name*/, const std::string& value) {
  text.check(value);
  member = value;
}

std::string written(const std::string& member, const Text& /*text*/) { return member; }

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
          const std::string full = fmt::format("{}.{}", name, field);
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
          check(member, domain, fmt::format("{}.{}", name_of(method), field));
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
              info.options.push_back(
                  {fmt::format("{}.{}", entry.name, field), written(member, domain), describe(domain), help});
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
          all.emplace_back(fmt::format("{}.{}", name_of(method), field), written(member, domain));
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
