#include "base/spelling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gaussmith {

std::string option_name(std::string_view field, Spelling spelling) {
  std::string name(field);
  if (spelling == Spelling::command_line) {
    std::replace(name.begin(), name.end(), '_', '-');
    name.insert(0, "--");
  }
  return name;
}

std::string setting_name(std::string_view parameter, Spelling spelling) {
  return (spelling == Spelling::command_line ? "--set " : "") + std::string(parameter);
}

namespace {

/// Letters to add, remove, replace or swap with the next one until the two are the same.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({row[j - 1] + 1, last[j] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::exchange(row, before_last));
  }
  return last[b.size()];
}

}  // namespace

std::string suggestion(std::string_view typed, const std::vector<std::string>& known) {
  constexpr std::size_t longest_name = 100;
  if (typed.size() > longest_name) return {};
  const std::string* nearest = nullptr;
  std::size_t fewest = 0;
  for (const std::string& name : known) {
    if (name.size() > longest_name) continue;
    const std::size_t changes = distance(typed, name);
    if (3 * changes > name.size() || (nearest != nullptr && changes >= fewest)) continue;
    nearest = &name;
    fewest = changes;
  }
  return nearest == nullptr ? std::string() : " (did you mean " + *nearest + "?)";
}

}  // namespace gaussmith
