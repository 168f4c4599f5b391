#pragma once
// Sparse form of the core: A = Q + H'T H over the weights themselves, for sparse prior precisions Q and sparse rows H.
// Coordinates are w - mean. One sparse factorisation of a fixed pattern for every new T; the variances of all rows come
// from the entries of A^-1 on that pattern, which holds every pair of weights that a row joins. Nothing is D x D or
// N x N. Directions without a level (intrinsic fields) are held by conditioning (held_directions.hpp).

#include "gaussian/core.hpp"
#include "gaussian/held_directions.hpp"
#include "linalg/sparse_cholesky.hpp"

namespace gaussmith {

/// A factorisation of A with what its constraints need; shared with the laws made of it.
struct SparseGaussian {
  std::shared_ptr<SparseCholesky> factor;
  HeldDirections held;
};

/// Sums over the pairs of weights that rows join, along the columns of a pattern.
class RowPairs {
 public:
  /// Null stands for the identity.
  RowPairs(std::shared_ptr<const SparseMatrix> rows, const SymmetricPattern& pattern);

  /// entries += H'diag(weights) H on the pattern.
  void add_gram(const Vector& weights, const SymmetricPattern& pattern, std::vector<double>& entries,
                int threads) const;
  /// h_n' Z h_n for every row, Z on the pattern.
  [[nodiscard]] Vector quadratic_forms(const SymmetricPattern& pattern, const std::vector<double>& z) const;
  /// |H|'x.
  [[nodiscard]] Vector absolute_transposed_times(const Vector& x) const;

 private:
  std::shared_ptr<const SparseMatrix> rows_;
  std::vector<int> begin_;        // Of the columns of H.
  std::vector<int> row_, place_;  // The row of an entry, and where it is in the rows.
};

class SparseCore final : public GaussianCore {
 public:
  SparseCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] bool factorises_cheaply() const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                 const Vector& implicit = {}) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 private:
  /// Entries of A on the pattern.
  [[nodiscard]] std::vector<double> entries_at(const Vector& precision) const;
  /// From h_n' Z h_n of every row, before anything is held, what is left within the constraints. Where rounding is all
  /// that is left, it is rounding's share, so that who compares the two sees it.
  [[nodiscard]] Vector held_variances(const SparseGaussian& gaussian, const Vector& unheld) const;
  [[nodiscard]] HeldDirections hold_with(const SparseCholesky& factor) const;
  /// Q x.
  [[nodiscard]] Vector prior_times(const Vector& x) const;
  /// The sum over the columns x of x'Q x, of a field's weights alone.
  [[nodiscard]] double prior_squares(const Matrix& x, const FieldPart& part) const;
  /// A^-1 b within the constraints.
  [[nodiscard]] Vector solve(const Vector& b) const;
  [[nodiscard]] const std::vector<double>& selected() const;

  KnownPrecision prior_;
  double prior_log_determinant_ = 0.0;
  std::shared_ptr<const RowPairs> pairs_;
  std::vector<double> prior_entries_;  // Q on the pattern, with what is added to the grounds of held directions.
  std::vector<double> entries_;        // A on the pattern.
  std::shared_ptr<SparseGaussian> gaussian_;
  Vector unheld_;  // Variances of the rows before anything is held.
  mutable std::optional<std::vector<double>> selected_;
  mutable std::optional<Vector> prior_variances_;
};

/// The design of a model as compressed sparse rows: the stored ones where there are, made of dense ones; null for the
/// identity, which joins nothing.
[[nodiscard]] std::shared_ptr<const SparseMatrix> sparse_rows(const Design& design);

}  // namespace gaussmith
