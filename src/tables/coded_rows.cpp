#include "tables/coded_rows.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace gaussmith {

Matrix with_intercept(const Matrix& features, bool intercept) {
  if (!intercept) return features;
  Matrix design(features.rows(), features.cols() + 1);
  design.col(0).setOnes();
  design.rightCols(features.cols()) = features;
  return design;
}

SparseMatrix with_intercept(const SparseMatrix& features, bool intercept) {
  if (!intercept) return features;
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(static_cast<std::size_t>(features.nonZeros() + features.rows()));
  for (Index i = 0; i < features.rows(); ++i) {
    entries.emplace_back(static_cast<int>(i), 0, 1.0);
    for (SparseMatrix::InnerIterator it(features, i); it; ++it) {
      entries.emplace_back(static_cast<int>(i), static_cast<int>(it.col() + 1), it.value());
    }
  }
  SparseMatrix design(features.rows(), features.cols() + 1);
  design.setFromTriplets(entries.begin(), entries.end());
  return design;
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
