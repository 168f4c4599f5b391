#include "io/levels.hpp"

#include "gaussmith/tables.hpp"
#include "io/text.hpp"

#include <set>

namespace gaussmith {

std::vector<std::string> distinct_cells(const Column& column) {
  std::vector<std::string> cells;
  if (column.type == ColumnType::numeric) {
    std::set<double> values;
    for (Index row = 0; row < column.rows(); ++row) {
      // Adding 0 makes -0 and 0 the same label.
      if (!column.is_missing(row)) values.insert(column.numbers[row] + 0.0);
    }
    for (const double value : values) cells.push_back(number_text(value));
    return cells;
  }
  std::set<std::string_view> texts;
  for (const std::string& text : column.texts) {
    if (!text.empty()) texts.insert(text);
  }
  cells.assign(texts.begin(), texts.end());
  return cells;
}

std::string cell_text(const Column& column, std::ptrdiff_t row) {
  if (column.type == ColumnType::numeric) return number_text(column.numbers[row]);
  return column.texts[static_cast<std::size_t>(row)];
}

LevelLookup::LevelLookup(const std::vector<std::string>& levels) {
  for (std::size_t i = 0; i < levels.size(); ++i) {
    by_text_.emplace(levels[i], i);
    const Cell cell = parse_cell(levels[i]);
    if (cell.kind != CellKind::number) continue;
    const auto [entry, is_new] = by_value_.emplace(cell.value, i);
    if (!is_new) entry->second.reset();
  }
}

std::optional<std::size_t> LevelLookup::find_number(double value) const {
  const auto found = by_value_.find(value);
  return found == by_value_.end() ? std::nullopt : found->second;
}

std::optional<std::size_t> LevelLookup::find(const Column& column, std::ptrdiff_t row) const {
  if (column.type == ColumnType::numeric) return find_number(column.numbers[row]);
  const std::string& text = column.texts[static_cast<std::size_t>(row)];
  const auto found = by_text_.find(text);
  if (found != by_text_.end()) return found->second;
  const Cell cell = parse_cell(text);
  return cell.kind == CellKind::number ? find_number(cell.value) : std::nullopt;
}

}  // namespace gaussmith
