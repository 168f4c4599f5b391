#pragma once
// What an option accepts: how that is written down, whether a value is allowed, how text becomes a value and back.

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gaussmith {

/// Numbers that an option accepts; the highest is allowed, the lowest unless `above`.
struct Range {
  double lowest, highest;
  bool above = false;
};

/// The values of an enumeration and their names on the command line.
template <class Value, std::size_t count>
struct Choices {
  struct Choice {
    const char* name;
    Value value;
  };
  std::array<Choice, count> all;
};

/// Text with a form of its own, which the engine parses and checks.
struct Text {
  const char* form;
  void (*check)(const std::string& value);  ///< Throws InvalidOption.
};

/// The number that the text is. Throws InvalidOption, which calls it `name`.
[[nodiscard]] double parse_number(std::string_view name, const std::string& text);

[[nodiscard]] inline std::string describe(const Range& range) {
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
[[nodiscard]] std::string written(const Number& member, const Range& /*range*/) {
  return fmt::format("{}", member);
}

template <class Value, std::size_t count>
[[nodiscard]] std::string describe(const Choices<Value, count>& choices) {
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
[[nodiscard]] std::string written(const Value& member, const Choices<Value, count>& choices) {
  for (const auto& choice : choices.all)
    if (choice.value == member) return choice.name;
  return "";
}

[[nodiscard]] inline std::string describe(const Text& text) { return text.form; }

inline void check(const std::string& member, const Text& text, const std::string& /*name*/) { text.check(member); }

inline void assign(std::string& member, const Text& text, const std::string& /*name*/, const std::string& value) {
  text.check(value);
  member = value;
}

[[nodiscard]] inline std::string written(const std::string& member, const Text& /*text*/) { return member; }

}  // namespace gaussmith
