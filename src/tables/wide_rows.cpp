#include "tables/wide_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

/// From so many columns on, if at most this share of them differs from zero in a row.
constexpr Index many_columns = 300;
constexpr double few_entries = 0.1;

bool are_sparse(double entries, Index columns) {
  return columns >= many_columns && entries <= few_entries * static_cast<double>(columns);
}

/// Entries of an average row, of columns that say nothing of each other.
double filled(const FixedTerm& term) {
  double share = 1.0;
  for (const FeatureColumn& column : term.columns) share *= column.filled;
  return share;
}

bool is_centred(const std::vector<FeatureColumn>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const FeatureColumn& column) { return column.mean != 0.0; });
}

/// All products of an entry of a row of `a` with one of the same row of `b`, those of `a` first.
SparseMatrix row_products(const SparseMatrix& a, const SparseMatrix& b) {
  SparseMatrix out(a.rows(), a.cols() * b.cols());
  out.reserve(std::max(a.nonZeros(), b.nonZeros()));
  for (Index n = 0; n < a.rows(); ++n) {
    out.startVec(n);
    for (SparseMatrix::InnerIterator y(b, n); y; ++y)
      for (SparseMatrix::InnerIterator x(a, n); x; ++x)
        out.insertBack(n, y.col() * a.cols() + x.col()) = x.value() * y.value();
  }
  out.finalize();
  return out;
}

/// What FixedTerm::encode gives, without its zeros.
SparseMatrix rows_of(const FixedTerm& term, const Table& table) {
  SparseMatrix product;
  for (const FeatureColumn& column : term.columns) {
    FeatureCoding alone;
    alone.columns = {column};
    const Design own = alone.encode_sparse(table);
    const SparseMatrix& rows = *own.entries().sparse;
    product = &column == &term.columns.front() ? rows : row_products(product, rows);
  }
  return product;
}

}  // namespace

bool is_wide(const FeatureCoding& features) {
  double entries = 0.0;
  for (const FeatureColumn& column : features.columns) entries += column.filled;
  return !features.is_sparse && !is_centred(features.columns) && are_sparse(entries, features.dimension());
}

bool is_wide(const TableCoding& coding) {
  if (coding.features.is_sparse || coding.centres.size() > 0) return false;
  Index columns = 0;
  double entries = 0.0;
  for (const FixedTerm& term : coding.fixed) {
    if (is_centred(term.columns)) return false;
    columns += term.width();
    entries += filled(term);
  }
  return are_sparse(entries, columns);
}

SparseMatrix wide_rows(const TableCoding& coding, const Table& table) {
  const Index lead = coding.intercept ? 1 : 0;
  std::vector<SparseMatrix> parts;
  Index columns = lead;
  Index entries = lead * table.rows();
  for (const FixedTerm& term : coding.fixed) {
    parts.push_back(rows_of(term, table));
    columns += term.width();
    entries += parts.back().nonZeros();
  }
  SparseMatrix out(table.rows(), columns);
  out.reserve(entries);
  for (Index n = 0; n < table.rows(); ++n) {
    out.startVec(n);
    if (lead == 1) out.insertBack(n, 0) = 1.0;
    Index first = lead;
    for (const SparseMatrix& part : parts) {
      for (SparseMatrix::InnerIterator entry(part, n); entry; ++entry)
        out.insertBack(n, first + entry.col()) = entry.value();
      first += part.cols();
    }
  }
  out.finalize();
  return out;
}

}  // namespace gaussmith
