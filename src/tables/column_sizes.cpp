#include "tables/column_sizes.hpp"

#include "gaussmith/errors.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr double most = 1e100;
constexpr double least = 1e-100;

/// A magnitude for comparisons, in which a number that is none is beyond all others.
double magnitude(double value) { return std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value); }

void check_largest(const Vector& largest, const std::vector<std::string>& names, const Table& table,
                   const std::string& cure) {
  for (Index j = 0; j < largest.size(); ++j) {
    if (largest(j) == 0.0 || (largest(j) >= least && largest(j) <= most)) continue;
    throw InvalidFile(
        fmt::format("{}: column {} has numbers {} in size; between {} and {} are accepted: give it in another unit{}",
                    table.name_in_messages(), in_quotes(names[static_cast<std::size_t>(j)]),
                    std::isfinite(largest(j)) ? fmt::format("up to {:.3g}", largest(j))
                                              : std::string("beyond what double precision holds"),
                    least, most, cure));
  }
}

}  // namespace

void check_sizes(const Matrix& columns, const std::vector<std::string>& names, const Table& table,
                 const std::string& cure) {
  Vector largest = Vector::Zero(columns.cols());
  for (Index j = 0; j < columns.cols(); ++j)
    for (const double value : columns.col(j)) largest(j) = std::max(largest(j), magnitude(value));
  check_largest(largest, names, table, cure);
}

void check_sizes(const SparseMatrix& rows, const std::vector<std::string>& names, const Table& table,
                 const std::string& cure) {
  Vector largest = Vector::Zero(rows.cols());
  for (Index n = 0; n < rows.rows(); ++n)
    for (SparseMatrix::InnerIterator entry(rows, n); entry; ++entry)
      largest(entry.col()) = std::max(largest(entry.col()), magnitude(entry.value()));
  check_largest(largest, names, table, cure);
}

}  // namespace gaussmith
