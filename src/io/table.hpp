#pragma once
// Checks on tables that the codings share.

#include "gaussmith/tables.hpp"

#include <string>
#include <string_view>
#include <unordered_map>

namespace gaussmith {

/// Throws InvalidFile "train.csv, line 17, column "age": what".
[[noreturn]] void fail_cell(const Table& table, const Column& column, Index row, std::string_view what);

/// Throws InvalidFile at the first missing cell.
void check_no_missing(const Table& table, const Column& column);

/// Throws InvalidFile unless the column holds as many rows as the table, each a number: text is quoted with its row.
void check_numeric(const Table& table, const Column& column);

/// Throws InvalidModel unless all columns of a table have the same length.
void check_shape(const Table& table);

/// The columns of a table by name, for who asks for many of them: Table::column looks through all every time. The table
/// must outlive it.
class ColumnIndex {
 public:
  explicit ColumnIndex(const Table& table);
  /// As Table::column.
  [[nodiscard]] const Column& column(std::string_view name) const;

 private:
  const Table* table_;
  std::unordered_map<std::string_view, const Column*> by_name_;
};

}  // namespace gaussmith
