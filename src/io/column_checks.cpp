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

/// Whether the text is a number once its comma is a point.
bool has_decimal_comma(std::string text) {
  const auto comma = text.find(',');
  if (comma == std::string::npos) return false;
  text[comma] = '.';
  return parse_cell(text).kind == CellKind::number;
}

/// Throws for a column that holds nothing but numbers, some of them with commas.
void check_no_decimal_commas(const Table& table, const Column& column) {
  Index first = -1;
  for (Index row = 0; row < column.rows(); ++row) {
    const std::string& text = column.texts[static_cast<std::size_t>(row)];
    if (has_decimal_comma(text)) {
      first = first < 0 ? row : first;
    } else if (!text.empty() && parse_cell(text).kind == CellKind::text) {
      return;
    }
  }
  if (first < 0) return;
  throw InvalidFile(
      fmt::format("{}: column {} holds numbers with commas, {} in {}; write a point, or give --categorical {} to take "
                  "them as names of categories",
                  table.name_in_messages(), in_quotes(column.name),
                  in_quotes(column.texts[static_cast<std::size_t>(first)]), place_of(table, first), column.name));
}

}  // namespace

void check_not_mostly_numbers(const Table& table, const Column& column) {
  if (column.type != ColumnType::text || column.categorical) return;
  check_no_decimal_commas(table, column);
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

void check_whole_names(const Table& table, const Column& column) {
  if (column.type != ColumnType::numeric) return;
  constexpr double exact = 9007199254740992.0;  // 2^53: from here on neighbours among whole numbers are one double.
  for (Index row = 0; row < column.rows(); ++row)
    if (std::abs(column.numbers[row]) >= exact)
      throw InvalidFile(
          fmt::format("{}: column {} names groups by numbers from 2^53 on, {} in {}, which are rounded; "
                      "give --categorical {} to take them as they are written",
                      table.name_in_messages(), in_quotes(column.name), number_text(column.numbers[row]),
                      place_of(table, row), column.name));
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
