#pragma once
// Categories of hundreds of levels, and hundreds of columns of numbers that are mostly zero, make rows of mostly zeros,
// which are kept sparse. Their columns are not centred: the intercept is that of a row whose columns are all zero.

#include "gaussmith/tables.hpp"

namespace gaussmith {

/// Whether the columns of a table are so many, and so few of them differ from zero in a row, that rows are sparse. A
/// matter of the coding alone, so that new rows are coded as those of training. Never where columns are centred.
[[nodiscard]] bool is_wide(const FeatureCoding& features);
/// The same of the fixed effects.
[[nodiscard]] bool is_wide(const TableCoding& coding);

/// Intercept and fixed effects of a wide coding: rows x columns.
[[nodiscard]] SparseMatrix wide_rows(const TableCoding& coding, const Table& table);

}  // namespace gaussmith
