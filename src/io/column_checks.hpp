#pragma once
// Columns and headers that are not what they seem: mistakes in tables that would go on without a word.

#include "gaussmith/tables.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// Throws InvalidFile for a column of text nine tenths of whose cells are numbers, naming up to three of the others:
/// one typing error would make a 0/1 column of every number. So would decimal commas, which are refused as well. A
/// column that was asked for as text passes.
void check_not_mostly_numbers(const Table& table, const Column& column);

/// Throws InvalidFile for a column of numbers so large that different names of groups would be one.
void check_whole_names(const Table& table, const Column& column);

/// Whether these names are the first row of a table without a header: all are numbers, and they do not count columns or
/// years, one more each time.
[[nodiscard]] bool looks_like_data(const std::vector<std::string>& names);

}  // namespace gaussmith
