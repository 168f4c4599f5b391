#pragma once
// Finding a cell among the levels that a coding knows.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

struct Column;

/// Distinct cells of a column in byte order for text, in numerical order for numbers; missing cells left out.
[[nodiscard]] std::vector<std::string> distinct_cells(const Column& column);

/// The cell as text; numbers in their shortest form.
[[nodiscard]] std::string cell_text(const Column& column, std::ptrdiff_t row);

/// Looks cells up among levels. A column of text levels such as {1, 2, unknown} reads as numeric in a new table
/// without "unknown", so a number also matches the one level that has its value ("1.0" matches "1").
class LevelLookup {
 public:
  explicit LevelLookup(const std::vector<std::string>& levels);

  /// Position among the levels, nothing if unknown. Cost O(log levels).
  [[nodiscard]] std::optional<std::size_t> find(const Column& column, std::ptrdiff_t row) const;

 private:
  [[nodiscard]] std::optional<std::size_t> find_number(double value) const;

  std::map<std::string, std::size_t, std::less<>> by_text_;
  std::map<double, std::optional<std::size_t>> by_value_;  // Nothing where two levels share a value.
};

}  // namespace gaussmith
