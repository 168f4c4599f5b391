#include "learn/candidate_starts.hpp"

#include "learn/explore.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <string_view>

namespace gaussmith {

namespace {

/// Levels of a length-scale: factors of 4, 1/2 and 1/16.
const std::array<double, 3> levels = {std::log(4.0), -std::log(2.0), -std::log(16.0)};
/// Those of a periodic kernel are in periods: a wave of many harmonics, of some, nearly a sine.
const std::array<double, 3> levels_in_periods = {-std::log(4.0), 0.0, std::log(4.0)};
constexpr std::size_t most_combinations = 9;

bool names_period(const FreeParameter& parameter) { return parameter.name.ends_with(".period"); }

bool names_effect(const FreeParameter& parameter) { return parameter.name.starts_with("random["); }

/// The places of one kernel's length-scales, and what they are tried at.
struct Scales {
  std::vector<Index> places;
  const std::array<double, 3>* levels;
};

std::vector<Scales> all_scales(const std::vector<FreeParameter>& free) {
  std::set<std::string_view> periodic;
  for (const FreeParameter& parameter : free)
    if (names_period(parameter))
      periodic.insert(std::string_view(parameter.name).substr(0, parameter.name.find_last_of('.')));
  std::vector<Scales> out;
  for (auto& group : lengthscale_groups(free)) {
    const std::string_view name = free[static_cast<std::size_t>(group.front())].name;
    const bool in_periods = periodic.contains(name.substr(0, name.find_last_of('.')));
    out.push_back({std::move(group), in_periods ? &levels_in_periods : &levels});
  }
  return out;
}

/// The level of a group in one of nine combinations: columns of the orthogonal array of strength two, (a, b, a + b,
/// a + 2 b) modulo 3; beyond four groups again with other levels.
std::size_t level(std::size_t combination, std::size_t group) {
  constexpr std::size_t count = levels.size();
  const std::size_t a = combination / count;
  const std::size_t b = combination % count;
  const std::array<std::size_t, 4> columns = {a, b, a + b, a + 2 * b};
  return (columns[group % columns.size()] + group / columns.size()) % count;
}

}  // namespace

bool has_components(const std::vector<FreeParameter>& free) {
  const std::size_t groups = lengthscale_groups(free).size();
  return groups > 1 || std::any_of(free.begin(), free.end(), names_period) ||
         (groups > 0 && std::any_of(free.begin(), free.end(), names_effect));
}

std::vector<Index> places_of_periods(const std::vector<FreeParameter>& free) {
  std::vector<Index> out;
  for (std::size_t i = 0; i < free.size(); ++i)
    if (names_period(free[i])) out.push_back(static_cast<Index>(i));
  return out;
}

std::vector<Vector> candidate_starts(const std::vector<FreeParameter>& free, const Vector& start,
                                     const std::vector<double>& periods) {
  const std::vector<Scales> groups = all_scales(free);
  const std::vector<Index> periodic = places_of_periods(free);
  const std::size_t combinations = groups.empty() ? 1 : groups.size() == 1 ? levels.size() : most_combinations;
  const std::size_t turns = periodic.empty() || periods.empty() ? 1 : periods.size();
  std::vector<Vector> out = {start};
  for (std::size_t turn = 0; turn < turns; ++turn)
    for (std::size_t combination = 0; combination < combinations; ++combination) {
      Vector point = start;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const double step = (*groups[g].levels)[groups.size() == 1 ? combination : level(combination, g)];
        for (const Index i : groups[g].places) point(i) += step;
      }
      for (std::size_t p = 0; p < periodic.size() && !periods.empty(); ++p)
        point(periodic[p]) = std::log(periods[(p + turn) % periods.size()]);
      for (std::size_t i = 0; i < free.size(); ++i) {
        double& place = point(static_cast<Index>(i));
        place = std::clamp(place, free[i].lower, free[i].upper);
      }
      if (std::find(out.begin(), out.end(), point) == out.end()) out.push_back(std::move(point));
    }
  return out;
}

}  // namespace gaussmith
