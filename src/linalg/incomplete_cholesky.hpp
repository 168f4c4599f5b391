#pragma once

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// A ~ L L' with L of the pattern of A's lower triangle; see incomplete_cholesky_preconditioner.
class IncompleteCholesky {
 public:
  explicit IncompleteCholesky(const SparseMatrix& a);

  /// (L L')^-1 X.
  [[nodiscard]] Matrix solve(const Matrix& x) const;
  /// What was added to the unit diagonal of the scaled matrix.
  [[nodiscard]] double shift() const { return shift_; }

 private:
  [[nodiscard]] bool factorise(const std::vector<double>& entries);

  Vector scale_;               ///< diag(A)^-1/2.
  std::vector<Index> begins_;  ///< Where the rows of L begin; the diagonal is the last of each.
  std::vector<Index> columns_;
  std::vector<double> values_;
  double shift_ = 0.0;
};

}  // namespace gaussmith
