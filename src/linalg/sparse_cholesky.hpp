#pragma once
// Cholesky factorisation of sparse positive definite matrices by CHOLMOD (supernodal, fill-reducing order), and the
// entries of the inverse on the pattern of the factor (Takahashi's recursion).

#include "gaussmith/types.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace gaussmith {

/// The lower triangle of a symmetric matrix by columns: rows ascending, every diagonal entry present and first.
struct SymmetricPattern {
  Index size = 0;
  std::vector<int> begin;  ///< size + 1 places in `row`.
  std::vector<int> row;

  [[nodiscard]] Index entries() const { return static_cast<Index>(row.size()); }
};

/// The pattern of a + H'H for a symmetric a (both halves or one) and rows H; H may be null.
[[nodiscard]] SymmetricPattern gram_pattern(const SparseMatrix& a, const SparseMatrix* h);
/// The same where it has at most `most` entries; nothing as soon as it is seen to have more.
[[nodiscard]] std::optional<SymmetricPattern> small_gram_pattern(const SparseMatrix& a, const SparseMatrix* h,
                                                                 double most);

/// What a factorisation of a pattern costs.
struct SparseCost {
  double factor_entries = 0.0;
  double flops = 0.0;
};
[[nodiscard]] SparseCost factor_cost(const SymmetricPattern& pattern);

/// Factorisations of matrices of one pattern: P A P' = L L'. Threads other than the caller's are never used, so that
/// results do not depend on their number.
class SparseCholesky {
 public:
  /// Orders and analyses.
  explicit SparseCholesky(SymmetricPattern pattern);
  ~SparseCholesky();
  SparseCholesky(const SparseCholesky&) = delete;
  SparseCholesky& operator=(const SparseCholesky&) = delete;

  /// The same factorisation once more, so that one may go on while the other stays.
  [[nodiscard]] std::shared_ptr<SparseCholesky> clone() const;

  [[nodiscard]] const SymmetricPattern& pattern() const;
  /// False where the matrix with these entries is not positive definite.
  [[nodiscard]] bool factorise(const std::vector<double>& entries);
  [[nodiscard]] SparseCost cost() const;
  [[nodiscard]] double log_determinant() const;
  /// The smallest pivot beside its diagonal entry of A: rounding has spoilt what is near 1e-16.
  [[nodiscard]] double smallest_pivot() const;
  /// b := A^-1 b.
  void solve(Matrix& b) const;
  void solve(Vector& b) const;
  /// L^-1 P b: its squared columns are b'A^-1 b.
  [[nodiscard]] Matrix half_solve(const Matrix& b) const;
  /// P'L^-T z: of covariance A^-1 for standard normal z.
  [[nodiscard]] Matrix root_times(const Matrix& z) const;
  /// The entries of A^-1 on the pattern of A.
  [[nodiscard]] std::vector<double> selected_inverse() const;

 private:
  class State;
  explicit SparseCholesky(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gaussmith
