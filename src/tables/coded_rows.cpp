#include "tables/coded_rows.hpp"

#include "gaussmith/errors.hpp"
#include "model/sparse_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace gaussmith {

Matrix with_intercept(const Matrix& features, bool intercept) {
  if (!intercept) return features;
  Matrix design(features.rows(), features.cols() + 1);
  design.col(0).setOnes();
  design.rightCols(features.cols()) = features;
  return design;
}

Design with_intercept(const Design& features, bool intercept) {
  if (!intercept) return features;
  return visit_sparse(features.entries(), [&]<class Rows>(const Rows& rows) -> Design {
    if (rows.nonZeros() > std::numeric_limits<int>::max() - rows.rows())
      throw InvalidFile("the table has too many entries for an intercept beside them; leave it out");
    Rows out(rows.rows(), rows.cols() + 1);
    out.resizeNonZeros(rows.nonZeros() + rows.rows());
    Index filled = 0;
    for (Index i = 0; i < rows.rows(); ++i) {
      const int first = rows.outerIndexPtr()[i];
      const int last = rows.outerIndexPtr()[i + 1];
      out.innerIndexPtr()[filled] = 0;
      out.valuePtr()[filled++] = 1;
      for (int k = first; k < last; ++k) {
        out.innerIndexPtr()[filled] = rows.innerIndexPtr()[k] + 1;
        out.valuePtr()[filled++] = rows.valuePtr()[k];
      }
      out.outerIndexPtr()[i + 1] = static_cast<int>(filled);
    }
    return {std::move(out)};
  });
}

std::map<std::string, std::string, std::less<>> needed_arguments(const TableCoding& coding, bool observed) {
  auto needed = coding.argument_columns;
  std::erase_if(needed, [&](const auto& entry) {
    const SiteArgumentInfo* info = find_column_argument(entry.first);
    return !observed && info != nullptr && info->role == ArgumentRole::censoring;
  });
  return needed;
}

SiteArguments row_arguments(const TableCoding& coding, const Table& table, bool observed) {
  SiteArguments arguments;
  for (const auto& [argument, column] : needed_arguments(coding, observed)) {
    const SiteArgumentInfo* info = find_column_argument(argument);
    if (info == nullptr) {
      throw InvalidOption(fmt::format("argument_columns: no likelihood takes {} from a column", argument));
    }
    const auto& inverted = coding.inverted_arguments;
    const bool events = std::find(inverted.begin(), inverted.end(), argument) != inverted.end();
    arguments[argument] = events ? event_column(table, column) : argument_column(table, column, *info);
  }
  return arguments;
}

Vector row_offset(const TableCoding& coding, const Table& table) {
  return coding.offset_column.empty() ? Vector() : number_column(table, coding.offset_column);
}

}  // namespace gaussmith
