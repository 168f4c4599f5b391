#pragma once
// Independent functions, K block diagonal with K_c = scale(c) kernel(c), under stars, T_n = diag pi - pi pi' / 1'pi:
// the whole is C + 1 Cholesky factorisations of order N.
//
// With s_c = pi_c^1/2, t = 1'pi and u_c = (pi_c / t)^1/2 for every row:
//   B_c = I + s_c K_c s_c,  M = sum_c u_c B_c^-1 u_c,
//   log|I + K T| = sum_c log|B_c| + log|M|,
//   Z^cc' = [c = c'] s_c B_c^-1 s_c - H_c'H_c',  H_c = L_M^-1 u_c B_c^-1 s_c,
//   V^cc' = [c = c'] (K_c - K_c s_c B_c^-1 s_c K_c) + (H_c K_c)'(H_c' K_c').
// Shares u in place of precisions in M keep its rows of order one, however weak a site is; nothing is divided by pi
// where that is small. V is a sum of positive terms.

#include "gaussian/joint_factor.hpp"

#include <vector>

namespace gaussmith {

class StarFactor final : public JointFactor {
 public:
  /// The functions are independent.
  explicit StarFactor(std::shared_ptr<const JointPrior> prior);

  [[nodiscard]] std::string describe() const override;
  /// The sites are stars.
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  [[nodiscard]] Matrix dual(const Matrix& r) const override;
  [[nodiscard]] double half_log_det() const override;
  [[nodiscard]] Vector covariances() override;
  [[nodiscard]] Matrix kernel_precision(Index function) const override;
  [[nodiscard]] Matrix latent_traces() const override;
  [[nodiscard]] Vector reductions(const std::vector<CrossBlock>& points) const override;
  [[nodiscard]] Matrix joint_reduction(const std::vector<CrossBlock>& points) const override;

 private:
  [[nodiscard]] bool set_shares(const Vector& star);
  [[nodiscard]] bool factorise_functions();
  [[nodiscard]] bool factorise_sum();
  /// Columns [begin, end) of B_c^-1: rows [begin, N) of them, or all.
  void copy_inverse_below(Index function, Index begin, Index end, MatrixView out) const;
  [[nodiscard]] Matrix inverse_columns(Index function, Index begin, Index end) const;
  /// L_c^-1 s_c x and L_c^-T of that, which is B_c^-1 s_c x.
  void half_solve(Index function, MatrixView x) const;
  void other_half(Index function, MatrixView x) const;
  /// Columns [begin, end) of B_c^-1 s_c K, K the function's kernel without its scale. `own` gets the diagonal of
  /// K_c - K_c s_c B_c^-1 s_c K_c there.
  [[nodiscard]] Matrix prior_columns(Index function, Index begin, Index end, Eigen::Ref<Vector> own) const;
  /// L_M^-1 u_c B_c^-1 s_c k* of points [begin, end), a column for every point and function, C side by side; scaled.
  /// `direct` gets L_c^-1 s_c k* of every function, scaled too.
  [[nodiscard]] Matrix cross_columns(const std::vector<CrossBlock>& points, Index begin, Index end,
                                     std::vector<Matrix>& direct) const;
  [[nodiscard]] Index rows() const { return prior_->rows(); }
  [[nodiscard]] Index functions() const { return prior_->functions(); }

  std::shared_ptr<const JointPrior> prior_;
  Matrix root_;   // s, N x C.
  Matrix share_;  // u, N x C.
  /// L_c in the lower triangle, what is above the diagonal of B_c^-1 there.
  std::vector<Matrix> halves_;
  Matrix inverse_diagonal_;  // Of B_c^-1, N x C.
  Matrix sum_;               // L_M.
};

}  // namespace gaussmith
