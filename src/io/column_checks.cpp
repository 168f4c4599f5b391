#include "io/column_checks.hpp"

#include "gaussmith/errors.hpp"
#include "io/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace gaussmith {

namespace {

/// Texts in one of this many cells are taken for mistakes, not for categories.
constexpr Index cells_a_text = 10;
constexpr std::size_t most_shown = 3;

std::string place_of(const Table& table, Index row) {
  return table.lines.empty() ? fmt::format("row {}", row + 1)
                             : fmt::format("line {}", table.lines[static_cast<std::size_t>(row)]);
}

}  // namespace

void check_not_mostly_numbers(const Table& table, const Column& column) {
  if (column.type != ColumnType::text || column.categorical) return;
  Index filled = 0;
  for (const std::string& text : column.texts) filled += text.empty() ? 0 : 1;
  Index strange = 0;
  std::vector<std::string> shown;
  for (Index row = 0; row < column.rows(); ++row) {
    const std::string& text = column.texts[static_cast<std::size_t>(row)];
    if (text.empty() || parse_cell(text).kind != CellKind::text) continue;
    if (++strange * cells_a_text > filled) return;
    if (shown.size() < most_shown) shown.push_back(fmt::format("{} in {}", in_quotes(text), place_of(table, row)));
  }
  if (strange == 0) return;
  const auto hidden = strange - static_cast<Index>(shown.size());
  throw InvalidFile(fmt::format(
      "{}: column {} holds numbers in {} of {} cells, but {}{}; correct them (an empty cell or NA is missing), or give "
      "--categorical {} to take all as names of categories",
      table.name_in_messages(), in_quotes(column.name), filled - strange, filled, fmt::join(shown, ", "),
      hidden > 0 ? fmt::format(" and {} more", hidden) : "", column.name));
}

bool looks_like_data(const std::vector<std::string>& names) {
  bool counts = names.size() > 1;
  double before = 0.0;
  for (std::size_t j = 0; j < names.size(); ++j) {
    const Cell cell = parse_cell(names[j]);
    if (cell.kind != CellKind::number) return false;
    counts = counts && cell.value == std::floor(cell.value) && (j == 0 || cell.value == before + 1.0);
    before = cell.value;
  }
  return !counts;
}

}  // namespace gaussmith
