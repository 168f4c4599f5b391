#pragma once
// Rows of a design over few thousand weights, split by how many entries they have: pairs of entries where these are
// few, dense algebra where they are many. Wavelets of an image have both kinds.

#include "gaussmith/design.hpp"
#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

class WeightRows {
 public:
  /// A design with entries.
  WeightRows(const Design& design, int threads);

  /// Whether no row has more than one entry.
  [[nodiscard]] bool single_entries() const { return single_; }
  /// a(lower) += H'diag(weights) H, weights of either sign: L^2 / 2 products for a row of L entries, D^2 flops for one
  /// with many.
  void add_gram(const Vector& weights, Matrix& a) const;
  /// h'C h of all rows, C symmetric, of which its lower triangle is read.
  [[nodiscard]] Vector squares(const Matrix& covariance_lower) const;

 private:
  /// Where an entry of a light row is stored; those of its row that follow it, and itself, end at `end`.
  struct Entry {
    Index row, at, end;
  };
  void sort_by_columns();

  Design design_;
  int threads_;
  bool single_ = false;
  SparseMatrix light_;            // Rows with many entries are empty here; all of them for a dense design.
  std::vector<Entry> by_column_;  // Its entries, column by column with their rows in order,
  std::vector<Index> starts_;     // and where columns begin.
  double pairs_ = 0.0;            // Of entries in a row.
  Matrix heavy_;                  // Those rows, transposed.
  std::vector<Index> which_;      // Their numbers.
};

}  // namespace gaussmith
