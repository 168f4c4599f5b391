#pragma once
// What a coding makes of the rows of a table, for models and for predictions alike.

#include "gaussmith/tables.hpp"
#include "tables/wide_rows.hpp"

namespace gaussmith {

/// The design of a linear model with or without the leading column of ones.
[[nodiscard]] Matrix with_intercept(const Matrix& features, bool intercept);
/// Rows without an intercept are shared; with one they keep their precision.
[[nodiscard]] Design with_intercept(const Design& features, bool intercept);

/// Puts the rows of a linear model into a design: sparse for LIBSVM text and wide codings, else dense.
template <class Rows>
void put_rows(const TableCoding& coding, const Table& table, Rows& design) {
  if (table.is_sparse || is_wide(coding.features)) {
    design = with_intercept(coding.features.encode_sparse(table), coding.intercept);
  } else {
    design = with_intercept(coding.features.encode_dense(table), coding.intercept);
  }
}

/// The columns of row-wise arguments that rows bring: all of them where their responses are known, else those that do
/// not describe how a response was recorded.
[[nodiscard]] std::map<std::string, std::string, std::less<>> needed_arguments(const TableCoding& coding,
                                                                               bool observed);

/// Those arguments, checked.
[[nodiscard]] SiteArguments row_arguments(const TableCoding& coding, const Table& table, bool observed);

/// The offset of the rows; empty without one.
[[nodiscard]] Vector row_offset(const TableCoding& coding, const Table& table);

}  // namespace gaussmith
