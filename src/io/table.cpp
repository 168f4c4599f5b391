#include "io/table.hpp"

#include "base/input_file.hpp"
#include "gaussmith/errors.hpp"
#include "io/csv.hpp"
#include "io/svmlight.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {
namespace {

TableFormat format_of(std::string_view name, TableFormat wanted) {
  if (wanted != TableFormat::by_name) return wanted;
  std::string lower(name);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (lower.ends_with(".gz")) lower.resize(lower.size() - 3);
  if (lower.ends_with(".csv")) return TableFormat::csv;
  if (lower.ends_with(".tsv") || lower.ends_with(".tab")) return TableFormat::tsv;
  if (lower.ends_with(".txt")) return TableFormat::csv_or_tsv;
  if (lower.ends_with(".svm") || lower.ends_with(".libsvm")) return TableFormat::svmlight;
  throw InvalidFile(
      fmt::format("{}: the name does not tell the format; names must end in .csv (a CSV table with a header), .tsv or "
                  ".tab (the same with tabs), .txt (either), .svm or .libsvm (LIBSVM text), optionally followed by .gz",
                  name));
}

Table read(InputFile& file, const TableOptions& options) {
  TableOptions known = options;
  known.format = format_of(file.name(), options.format);
  if (known.format == TableFormat::svmlight) return read_svmlight(file, known);
  if (options.single) {
    throw InvalidOption(
        fmt::format("{}: single precision is for LIBSVM tables (.svm, .libsvm); leave it out", file.name()));
  }
  return read_csv(file, known);
}

std::vector<std::string> column_names(const Table& table) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) names.push_back(column.name);
  return names;
}

Table keep_rows(Table table, const std::vector<Index>& rows) {
  for (Column& column : table.columns) {
    if (column.type == ColumnType::numeric) {
      column.numbers = Vector(column.numbers(rows));
    } else {
      std::vector<std::string> kept;
      kept.reserve(rows.size());
      Index first_text = -1;
      for (const Index row : rows) {
        if (first_text < 0 && column.first_text_row >= 0 && row >= column.first_text_row &&
            parse_cell(column.texts[static_cast<std::size_t>(row)]).kind == CellKind::text) {
          first_text = static_cast<Index>(kept.size());
        }
        kept.push_back(std::move(column.texts[static_cast<std::size_t>(row)]));
      }
      column.texts = std::move(kept);
      column.first_text_row = first_text;
    }
  }
  if (!table.lines.empty()) {
    std::vector<std::int64_t> lines;
    lines.reserve(rows.size());
    for (const Index row : rows) lines.push_back(table.lines[static_cast<std::size_t>(row)]);
    table.lines = std::move(lines);
  }
  return table;
}

}  // namespace

Index Column::rows() const { return type == ColumnType::numeric ? numbers.size() : static_cast<Index>(texts.size()); }

bool Column::is_missing(Index row) const {
  return type == ColumnType::numeric ? std::isnan(numbers[row]) : texts[static_cast<std::size_t>(row)].empty();
}

Column numeric_column(std::string name, Vector numbers) {
  Column column;
  column.name = std::move(name);
  column.numbers = std::move(numbers);
  return column;
}

Column text_column(std::string name, std::vector<std::string> texts) {
  Column column;
  column.name = std::move(name);
  column.type = ColumnType::text;
  column.texts = std::move(texts);
  return column;
}

Index Table::rows() const {
  if (is_sparse) return features.rows();
  return columns.empty() ? 0 : columns.front().rows();
}

std::string Table::name_in_messages() const { return source.empty() ? "the table" : source; }

const Column* Table::find(std::string_view name) const {
  const auto found = std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

const Column& Table::column(std::string_view name) const {
  const Column* const found = find(name);
  if (found == nullptr && is_sparse && columns.empty()) {
    throw InvalidFile(fmt::format("{} is LIBSVM text, which has no column names; there is no column {}",
                                  name_in_messages(), in_quotes(name)));
  }
  if (found == nullptr) {
    const std::vector<std::string> names = column_names(*this);
    throw InvalidFile(fmt::format("{} has no column {}{}; its columns are {}", name_in_messages(), in_quotes(name),
                                  suggestion(name, names), listed(names)));
  }
  return *found;
}

ColumnIndex::ColumnIndex(const Table& table) : table_(&table) {
  for (const Column& column : table.columns) by_name_.emplace(column.name, &column);
}

const Column& ColumnIndex::column(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? table_->column(name) : *found->second;
}

std::string Table::where(Index row) const {
  const std::string place =
      lines.empty() ? fmt::format("row {}", row + 1) : fmt::format("line {}", lines[static_cast<std::size_t>(row)]);
  return source.empty() ? place : fmt::format("{}, {}", source, place);
}

void fail_cell(const Table& table, const Column& column, Index row, std::string_view what) {
  throw InvalidFile(fmt::format("{}, column {}: {}", table.where(row), in_quotes(column.name), what));
}

void check_no_missing(const Table& table, const Column& column) {
  for (Index row = 0; row < column.rows(); ++row) {
    if (column.is_missing(row)) {
      fail_cell(table, column, row, "the cell is missing; fill it in, or leave such rows out with --drop-missing");
    }
  }
}

void check_numeric(const Table& table, const Column& column) {
  if (column.type == ColumnType::numeric) {
    check_no_missing(table, column);
    for (Index row = 0; row < column.rows(); ++row) {
      if (!std::isfinite(column.numbers[row])) fail_cell(table, column, row, "the number is not finite");
    }
    return;
  }
  for (Index row = std::max<Index>(column.first_text_row, 0); row < column.rows(); ++row) {
    const std::string& text = column.texts[static_cast<std::size_t>(row)];
    if (parse_cell(text).kind == CellKind::text) {
      fail_cell(table, column, row, fmt::format("{} is not a number", in_quotes(text)));
    }
  }
  throw InvalidFile(fmt::format("{}: column {} was read as text, but numbers are needed", table.name_in_messages(),
                                in_quotes(column.name)));
}

void check_shape(const Table& table) {
  const Index rows = table.rows();
  for (const Column& column : table.columns) {
    if (column.rows() != rows) {
      throw InvalidModel(fmt::format("{}: column {} has {} rows, but the first column has {}", table.name_in_messages(),
                                     in_quotes(column.name), column.rows(), rows));
    }
  }
  if (table.is_sparse && table.labels.size() != rows) {
    throw InvalidModel(fmt::format("{}: {} labels for {} rows", table.name_in_messages(), table.labels.size(), rows));
  }
  if (!table.lines.empty() && static_cast<Index>(table.lines.size()) != rows) {
    throw InvalidModel(
        fmt::format("{}: {} line numbers for {} rows", table.name_in_messages(), table.lines.size(), rows));
  }
  if (rows == 0) throw InvalidFile(fmt::format("{}: the table is empty", table.name_in_messages()));
}

Table read_table(const std::filesystem::path& path, const TableOptions& options) {
  static_cast<void>(format_of(path.string(), options.format));
  InputFile file(path);
  return read(file, options);
}

Table parse_table(std::string_view text, std::string name, const TableOptions& options) {
  InputFile file(text, std::move(name));
  return read(file, options);
}

CompleteRows complete_rows(Table table, const std::vector<std::string>& columns, bool drop_missing) {
  check_shape(table);
  std::vector<const Column*> used;
  used.reserve(columns.size());
  const ColumnIndex index(table);
  for (const std::string& name : columns) used.push_back(&index.column(name));

  CompleteRows result;
  Index first_dropped = -1;
  const Column* first_column = nullptr;
  for (Index row = 0; row < table.rows(); ++row) {
    const auto hole = std::find_if(used.begin(), used.end(), [&](const Column* c) { return c->is_missing(row); });
    if (hole == used.end()) {
      result.rows.push_back(row);
    } else if (first_column == nullptr) {
      first_dropped = row;
      first_column = *hole;
      if (!drop_missing || table.is_sparse) check_no_missing(table, *first_column);
    }
  }
  const Index total = table.rows();
  result.dropped = total - static_cast<Index>(result.rows.size());
  if (result.rows.empty()) {
    throw InvalidFile(fmt::format("{}: each of the {} rows has a missing cell in the columns used ({}); no row is left",
                                  table.name_in_messages(), total, listed(columns)));
  }
  if (result.dropped > 0) {
    result.note = fmt::format("dropped {} of {} rows with missing cells, the first at {}, column {}", result.dropped,
                              total, table.where(first_dropped), in_quotes(first_column->name));
    result.table = keep_rows(std::move(table), result.rows);
  } else {
    result.table = std::move(table);
  }
  return result;
}

}  // namespace gaussmith
