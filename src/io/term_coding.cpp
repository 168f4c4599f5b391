#include "gaussmith/errors.hpp"
#include "io/levels.hpp"
#include "io/table.hpp"
#include "io/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace gaussmith {

namespace {

FeatureCoding alone(const FeatureColumn& column) {
  FeatureCoding coding;
  coding.columns = {column};
  return coding;
}

/// A cell as part of the name of a level: numbers as numbers, however they are written, and no bare colon.
std::string part_of_level(const Column& column, Index row) {
  std::string text = cell_text(column, row);
  if (const Cell cell = parse_cell(text); cell.kind == CellKind::number) return number_text(cell.value);
  std::string escaped;
  for (const char c : text) {
    if (c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

/// The cells of several columns in one text; empty where one is missing.
std::string joined_cell(const std::vector<const Column*>& columns, Index row) {
  std::string text;
  for (const Column* column : columns) {
    if (column->is_missing(row)) return {};
    if (!text.empty()) text += ':';
    text += part_of_level(*column, row);
  }
  return text;
}

/// The place of a value among those of a random walk, up to rounding; -1 where there is none.
Index nearest_place(const Vector& places, double value) {
  constexpr double rounding = 1e-6;  // Of the distance to the next one.
  const double* begin = places.data();
  const double* end = begin + places.size();
  const auto after = static_cast<Index>(std::lower_bound(begin, end, value) - begin);
  for (const Index at : {after, after - 1}) {
    if (at < 0 || at >= places.size()) continue;
    const double step = at + 1 < places.size() ? places(at + 1) - places(at) : places(at) - places(at - 1);
    if (std::abs(places(at) - value) <= rounding * step) return at;
  }
  return -1;
}

std::vector<const Column*> columns_of(const Table& table, const std::vector<std::string>& names) {
  std::vector<const Column*> columns;
  columns.reserve(names.size());
  for (const std::string& name : names) columns.push_back(&table.column(name));
  return columns;
}

}  // namespace

Index FixedTerm::width() const {
  Index width = 1;
  for (const FeatureColumn& column : columns) width *= column.width();
  return width;
}

std::vector<std::string> FixedTerm::names() const {
  std::vector<std::string> names = {""};
  for (const FeatureColumn& column : columns) {
    std::vector<std::string> longer;
    for (const std::string& own : alone(column).names())
      for (const std::string& before : names) longer.push_back(before.empty() ? own : before + ":" + own);
    names = std::move(longer);
  }
  return names;
}

Matrix FixedTerm::encode(const Table& table) const {
  Matrix product = Matrix::Ones(table.rows(), 1);
  for (const FeatureColumn& column : columns) {
    const Matrix own = alone(column).encode_dense(table);
    Matrix wider(table.rows(), product.cols() * own.cols());
    for (Index j = 0; j < own.cols(); ++j)
      wider.middleCols(j * product.cols(), product.cols()) = (product.array().colwise() * own.col(j).array()).matrix();
    product = std::move(wider);
  }
  return product;
}

std::string GroupCoding::name() const { return fmt::format("{}", fmt::join(group, ":")); }

std::vector<Index> GroupCoding::rows(const Table& table) const {
  std::vector<Index> out(static_cast<std::size_t>(table.rows()), -1);
  const std::vector<const Column*> columns = columns_of(table, group);
  if (columns.size() == 1) {
    const LevelLookup lookup(levels);
    for (Index row = 0; row < table.rows(); ++row) {
      if (columns.front()->is_missing(row)) continue;
      if (const auto level = lookup.find(*columns.front(), row))
        out[static_cast<std::size_t>(row)] = static_cast<Index>(*level);
    }
    return out;
  }
  std::unordered_map<std::string_view, Index> lookup;
  for (std::size_t i = 0; i < levels.size(); ++i) lookup.emplace(levels[i], static_cast<Index>(i));
  for (Index row = 0; row < table.rows(); ++row)
    if (const auto found = lookup.find(joined_cell(columns, row)); found != lookup.end())
      out[static_cast<std::size_t>(row)] = found->second;
  return out;
}

Matrix GroupCoding::multipliers(const Table& table) const {
  Matrix out(table.rows(), effects());
  if (intercept) out.col(0).setOnes();
  if (!slope.empty()) out.col(effects() - 1) = number_column(table, slope);
  return out;
}

std::vector<std::string> FieldCoding::names() const {
  std::vector<std::string> names = nodes;
  if (nodes.empty())
    for (const double place : places) names.push_back(number_text(place));
  return names;
}

std::vector<Index> FieldCoding::rows(const Table& table) const {
  const Column& cells = table.column(column);
  std::vector<Index> out(static_cast<std::size_t>(table.rows()), -1);
  const LevelLookup lookup(nodes);
  for (Index row = 0; row < table.rows(); ++row) {
    Index& node = out[static_cast<std::size_t>(row)];
    if (cells.is_missing(row))
      throw InvalidFile(
          fmt::format("{}: no node of {}, the cell of {} is missing", table.where(row), term, in_quotes(column)));
    if (!nodes.empty()) {
      if (const auto found = lookup.find(cells, row)) node = static_cast<Index>(*found);
    } else if (cells.type == ColumnType::numeric) {
      node = nearest_place(places, cells.numbers(row));
    }
    if (node < 0)
      throw InvalidFile(fmt::format(
          "{}: {} is no node of {}, which has {}", table.where(row), in_quotes(cell_text(cells, row)), term,
          nodes.empty()
              ? fmt::format("{} values from {:.6g} to {:.6g}", places.size(), places(0), places(places.size() - 1))
              : fmt::format("{} of them ({}, ...)", nodes.size(), in_quotes(nodes.front()))));
  }
  return out;
}

std::vector<std::string> group_levels(const Table& table, const std::vector<std::string>& group) {
  const std::vector<const Column*> columns = columns_of(table, group);
  if (columns.size() == 1) return distinct_cells(*columns.front());
  std::vector<std::string> present;
  for (Index row = 0; row < table.rows(); ++row)
    if (std::string text = joined_cell(columns, row); !text.empty()) present.push_back(std::move(text));
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  return present;
}

}  // namespace gaussmith
