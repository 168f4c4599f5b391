#pragma once
// Preconditioners M, roughly A^-1, for conjugate gradients on a positive definite A. Every one is symmetric and
// positive definite whatever it is given, so that a poor one costs iterations and no more.

#include "linalg/linear_map.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace gaussmith {

/// diag(A)^-1. Here and below, entries of a diagonal that are not positive count as one.
[[nodiscard]] LinearMap diagonal_preconditioner(const Vector& diagonal);

/// [0, size) cut into runs of `length`, the last maybe shorter.
[[nodiscard]] std::vector<std::vector<Index>> contiguous_blocks(Index size, Index length);

/// The inverses of the blocks of A on the given sets of indices, each index in one of them. A block that is not
/// positive definite gives its diagonal. Sum of b^3 / 3 flops for blocks of b, and b^2 a product.
[[nodiscard]] LinearMap block_preconditioner(const SparseMatrix& a, const std::vector<std::vector<Index>>& blocks);

/// (L L')^-1 with the incomplete Cholesky factor of A: L has the pattern of A's lower triangle. The factor is that of
/// the matrix scaled to a unit diagonal; where a pivot fails, it starts again with 0.001, 0.002, 0.004, ... added to
/// that diagonal. Exact where the complete factor has no other entries, as for a tridiagonal A. 4 flops an entry of L a
/// product.
[[nodiscard]] LinearMap incomplete_cholesky_preconditioner(const SparseMatrix& a);

/// (D + U U')^-1 = D^-1 - D^-1 U (I + U'D^-1 U)^-1 U'D^-1 for a diagonal D. 4 n r flops a product for r columns of U.
[[nodiscard]] LinearMap low_rank_preconditioner(const Vector& diagonal, const Matrix& u);

/// Some weights S of A, to be solved for before the others.
class SolvedFirst {
 public:
  /// `columns` are those of A at S.
  SolvedFirst(std::vector<Index> indices, const Matrix& columns);
  /// Whether the block of S is positive definite.
  [[nodiscard]] bool exists() const { return lower_.cols() > 0; }
  /// P'D^-1 P X + E A_SS^-1 E'X, P = I - A_S A_SS^-1 E' and E the unit vectors of S.
  [[nodiscard]] Matrix times(const Vector& inverse_diagonal, const Matrix& x) const;

 private:
  std::vector<Index> indices_;
  Matrix lower_;    ///< L with A_SS = L L'.
  Matrix columns_;  ///< A_S L^-T.
};

/// The diagonal's, with the weights of `first` solved for exactly. Of A = Q + B, Q diagonal and B positive
/// semi-definite, M A then has no eigenvalue below min(1, Q_jj / A_jj) over the other weights; without them that is so
/// over all. The block may be that of another A, at the price of the bound. 4 D |S| flops a product.
[[nodiscard]] LinearMap solved_first_preconditioner(const Vector& diagonal, std::shared_ptr<const SolvedFirst> first);

/// S (I + V diag(c / theta - 1) V') S, S = diag(A)^-1/2: eigenvectors V of S A S with their eigenvalues theta, as far
/// as `steps` steps of Lanczos find them (residual below theta / 10), moved to the mean c of the other values found.
/// For spectra with some eigenvalues far from the rest.
[[nodiscard]] LinearMap spectral_preconditioner(const LinearMap& a, const Vector& diagonal, Index steps,
                                                std::uint64_t seed);

}  // namespace gaussmith
