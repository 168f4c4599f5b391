#pragma once
// Numbers so large or so small that their squares are none.

#include "gaussmith/tables.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// Throws InvalidFile, naming the column and what would be accepted, where the largest magnitude of a column is beyond
/// 1e100 or, other than zero, below 1e-100: variances and prior precisions then overflow, or vanish without a word.
/// `cure` says what helps besides another unit.
void check_sizes(const Matrix& columns, const std::vector<std::string>& names, const Table& table,
                 const std::string& cure = {});
/// The same for columns of sparse rows.
void check_sizes(const SparseMatrix& rows, const std::vector<std::string>& names, const Table& table,
                 const std::string& cure = {});

}  // namespace gaussmith
