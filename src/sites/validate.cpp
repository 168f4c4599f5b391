#include "sites/validate.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Beyond this the square of a residual could overflow; no response is that large.
constexpr double largest_response = 1e100;

bool whole(double value) { return std::floor(value) == value; }

std::string_view expected(ArgumentKind kind) {
  switch (kind) {
    case ArgumentKind::positive:
      return "a positive number";
    case ArgumentKind::count:
      return "a positive whole number";
    case ArgumentKind::flag:
      return "0 or 1";
    case ArgumentKind::bound:
      return "a PiecewiseBound's code, or 0";
  }
  return "";
}

bool accepts(ResponseKind kind, double y) {
  switch (kind) {
    case ResponseKind::real:
      return std::abs(y) <= largest_response;
    case ResponseKind::sign:
      return y == -1.0 || y == 1.0;
    case ResponseKind::count:
    case ResponseKind::label:
      return y >= 0.0 && y <= largest_response && whole(y);
    case ResponseKind::positive:
      return y > 0.0 && y <= largest_response;
  }
  return false;
}

std::string expected(ResponseKind kind) {
  switch (kind) {
    case ResponseKind::real:
      return "a finite number within +-1e100";
    case ResponseKind::sign:
      return "-1 or 1";
    case ResponseKind::count:
      return "a whole number of at least 0";
    case ResponseKind::positive:
      return "a positive number";
    case ResponseKind::label:
      return "a class: 0, 1, ...";
  }
  return "";
}

void check_values(const std::string& likelihood, const SiteArgumentInfo& argument, const Vector& values) {
  for (Index row = 0; row < values.size(); ++row) {
    if (!accepts(argument.kind, values[row])) {
      const std::string where = values.size() == 1 ? std::string() : fmt::format(" of row {}", row);
      throw InvalidModel(fmt::format("{}: argument '{}'{} is {}; expected {}", likelihood, argument.name, where,
                                     values[row], expected(argument.kind)));
    }
  }
}

}  // namespace

bool accepts(ArgumentKind kind, double value) {
  switch (kind) {
    case ArgumentKind::positive:
      return std::isfinite(value) && value > 0.0;
    case ArgumentKind::count:
      return std::isfinite(value) && value > 0.0 && whole(value);
    case ArgumentKind::flag:
      return value == 0.0 || value == 1.0;
    case ArgumentKind::bound:
      return whole(value);
  }
  return false;
}

void refuse_response(const std::string& likelihood, Index row, double value, const std::string& expected) {
  throw InvalidModel(fmt::format("{}: response of row {} is {}; expected {}", likelihood, row, value, expected));
}

std::vector<SiteParameter> complete_arguments(const LikelihoodInfo& info, Index rows, const SiteArguments& arguments) {
  const std::string& name = info.traits.name;
  for (const auto& [key, values] : arguments) {
    const auto same_name = [&key = key](const SiteArgumentInfo& a) { return a.name == key; };
    if (std::none_of(info.arguments.begin(), info.arguments.end(), same_name)) {
      std::vector<std::string> known;
      for (const SiteArgumentInfo& argument : info.arguments) known.push_back(argument.name);
      throw InvalidModel(fmt::format("{}: unknown argument '{}'; accepted: {}", name, key,
                                     known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
    }
  }
  std::vector<SiteParameter> complete;
  for (const SiteArgumentInfo& argument : info.arguments) {
    const auto found = arguments.find(argument.name);
    if (found == arguments.end() && argument.required) {
      throw InvalidModel(fmt::format("{}: argument '{}' is missing; expected {} for all rows or one for each row", name,
                                     argument.name, expected(argument.kind)));
    }
    Vector values = found == arguments.end() ? one(argument.default_value) : found->second;
    if (values.size() != 1 && values.size() != rows) {
      throw InvalidModel(fmt::format("{}: argument '{}' has {} values; expected 1 or {} (one for each row)", name,
                                     argument.name, values.size(), rows));
    }
    check_values(name, argument, values);
    const bool shared = values.size() == 1;
    complete.push_back({argument.name, std::move(values), argument.learnable && shared});
  }
  return complete;
}

void check_responses(const LikelihoodInfo& info, const Vector& responses) {
  for (Index row = 0; row < responses.size(); ++row) {
    if (!accepts(info.traits.response, responses[row])) {
      refuse_response(info.traits.name, row, responses[row], expected(info.traits.response));
    }
  }
}

void check_learnable(const SiteBlock& block, int parameter) {
  const auto& parameters = block.parameters();
  if (parameter < 0 || parameter >= static_cast<int>(parameters.size())) {
    throw InvalidOption(
        fmt::format("{} has no parameter {}; it has {}", block.traits().name, parameter, parameters.size()));
  }
  const SiteParameter& chosen = parameters[static_cast<std::size_t>(parameter)];
  if (!chosen.learnable) {
    throw InvalidOption(
        fmt::format("{}: '{}' is data, not a learnable parameter (a learnable one is shared by all rows)",
                    block.traits().name, chosen.name));
  }
}

void check_level(double level) {
  if (!(level > 0.0 && level < 1.0)) {
    throw InvalidOption(fmt::format("quantile level is {}; expected a number between 0 and 1", level));
  }
}

}  // namespace gaussmith
