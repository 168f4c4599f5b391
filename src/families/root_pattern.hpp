#pragma once
// Where the entries of a covariance root may stand. V = C'C with C of R rows and D columns; the entries are kept column
// by column, rows ascending, the last of a column being its "diagonal" one. Triangular families: R = D, C upper
// triangular. Factor analysis: R = K + D, Theta' on top of diag(d).

#include "families/covariance_family.hpp"

namespace gaussmith {

/// Up to this dimension the model of a step is a dense D x D matrix whatever the family; beyond it only where the
/// family or the prior is D x D itself.
inline constexpr Index direct_dimension = 256;

/// A panel of the products of a design with a root saves 2 x columns flops an entry and costs about five passes over
/// memory: a block with fewer columns than this is multiplied again wherever it is needed.
inline constexpr Index fewest_columns_for_panel = 256;

/// Rows of a block: enough for matrix products, few enough that a band's rectangle holds few zeros.
[[nodiscard]] Index rows_per_block(const CovarianceFamily& family);

/// A group of consecutive rows that are not purely diagonal, as a dense rectangle for matrix products.
struct RootBlock {
  Index row_begin, row_end;
  Index column_begin, column_end;
  Index panel_begin;  ///< Where its rows stand in a panel of all such rows.
};

struct RootPattern {
  Index columns = 0;
  Index rows = 0;
  std::vector<Index> start;  ///< columns + 1 offsets.
  std::vector<int> row;
  bool triangular = true;  ///< False for factor analysis.

  std::vector<RootBlock> blocks;
  Index panel_rows = 0;
  std::vector<bool> diagonal_row;  ///< Rows whose only entry is the diagonal one.

  [[nodiscard]] Index entries() const { return static_cast<Index>(row.size()); }
  /// The position of the diagonal entry of a column.
  [[nodiscard]] Index diagonal(Index column) const { return start[static_cast<std::size_t>(column) + 1] - 1; }
  /// The column whose diagonal entry stands in this row, or a negative number.
  [[nodiscard]] Index diagonal_column(Index r) const { return r - (rows - columns); }

  /// Entries of one block as a dense matrix, rows x columns; and back, adding to `entries`.
  [[nodiscard]] Matrix block(const RootBlock& at, const Vector& values) const;
  void add_block(const RootBlock& at, const Matrix& dense, Vector& values) const;

  /// The root as a matrix.
  [[nodiscard]] SparseMatrix matrix(const Vector& values) const;
};

/// The pattern of a family in D dimensions; `subspace` gives that of C and c, a triangle of K and one entry.
[[nodiscard]] RootPattern make_pattern(const CovarianceFamily& family, Index dimension);

}  // namespace gaussmith
