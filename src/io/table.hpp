#pragma once
// Checks on tables that the codings share.

#include "gaussmith/tables.hpp"

#include <string>
#include <string_view>

namespace gaussmith {

/// Throws InvalidFile "train.csv, line 17, column "age": what".
[[noreturn]] void fail_cell(const Table& table, const Column& column, Index row, std::string_view what);

/// Throws InvalidFile at the first missing cell.
void check_no_missing(const Table& table, const Column& column);

/// Throws InvalidFile unless the column holds as many rows as the table, each a number: text is quoted with its row.
void check_numeric(const Table& table, const Column& column);

/// Throws InvalidModel unless all columns of a table have the same length.
void check_shape(const Table& table);

}  // namespace gaussmith
