#include "learn/advice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Nearer to a bound than a factor of 3.
const double near_bound = std::log(3.0);
/// Further from the start than a factor of 100, with a standard error of more than a factor of e or none.
const double far_away = std::log(100.0);
constexpr double loose = 1.0;
/// A standard error that leaves a factor of 20 open to either side.
constexpr double open = 3.0;
constexpr std::size_t most_names = 5;

std::string listed(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), most_names);
  const std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", text, names.size() - shown) : text;
}

/// The nearer one.
std::string bound_of(const FreeParameter& f, double place) {
  const bool lower = place - f.lower < f.upper - place;
  return fmt::format("{} ({} bound {:.4g})", f.name, lower ? "lower" : "upper",
                     value_on(f.scale, lower ? f.lower : f.upper));
}

constexpr const char* cure =
    "hyperpriors (weak ones for all: --hyperpriors weak, weak_hyperpriors()) or narrower bounds";

}  // namespace

std::vector<std::string> advice(const LearnReport& report, const std::vector<FreeParameter>& free,
                                const Vector& places) {
  std::vector<std::string> switched_off, bounded, running, cut_short;
  std::size_t next = 0;
  for (const LearnedParameter& parameter : report.parameters) {
    if (parameter.fixed) continue;
    const FreeParameter& f = free[next];
    const double place = places(static_cast<Index>(next++));
    const bool at_end = place - f.lower < near_bound || f.upper - place < near_bound;
    const bool far = std::abs(place - f.initial) > far_away && parameter.standard_error.value_or(2.0 * loose) > loose;
    const bool undetermined = far || parameter.standard_error.value_or(0.0) > open;
    if (!at_end && !undetermined) continue;
    const bool one_of_many = f.name.ends_with("]") && f.name.find("lengthscale[") != std::string::npos;
    // Where the slope at an end goes on outwards, more room has a better value for certain.
    const bool held = f.bounded && ((f.at_lower(place) && parameter.gradient < 0.0) ||
                                    (f.at_upper(place) && parameter.gradient > 0.0));
    if (held)
      cut_short.push_back(f.name);
    else if (one_of_many && place > f.initial)
      switched_off.push_back(f.name);
    else if (at_end)
      bounded.push_back(bound_of(f, place));
    else
      running.push_back(f.name);
  }
  std::vector<std::string> out;
  if (!switched_off.empty())
    out.push_back(
        fmt::format("{} of the length-scales grew without end ({}): these features hardly matter to the fit; "
                    "leave them out, or hold them with {}",
                    switched_off.size(), listed(switched_off), cure));
  if (!bounded.empty())
    out.push_back(fmt::format(
        "at or near a bound: {}; the data do not determine {}, or the best value lies beyond: predictions rest "
        "on the bound. Use wider bounds (--bounds), {}",
        listed(bounded), bounded.size() == 1 ? "it" : "them", cure));
  if (!cut_short.empty())
    out.push_back(
        fmt::format("held by the bounds that were given: {}; the evidence rises beyond, so wider bounds fit better",
                    listed(cut_short)));
  if (!running.empty()) out.push_back(fmt::format("hardly determined by the data: {}; use {}", listed(running), cure));
  return out;
}

}  // namespace gaussmith
