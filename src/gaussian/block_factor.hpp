#pragma once
// Any K and any T: one Cholesky factorisation of order N k, k = C or, where sites see contrasts alone, C - 1.
//
// Q is the C x k basis, the identity or contrasts, and T_n = Q (E diag(lambda) E') Q' the sites in it. The positive
// part has the roots R_n = Q E lambda+^1/2 and
//   B = I + R'K R = L L',  Z+ = R B^-1 R',  V+ = K - K Z+ K.
// K is never inverted and may be singular. Negative lambda, with the roots U, are down-dated: V = V+ + V+U C^-1 U'V+
// with C = I - U'V+U, which is positive definite exactly when K^-1 + T is, and Z = Z+ - F C^-1 F', F = (I + T+K)^-1 U.
//
// V_n along E is read off L^-1 where sites are strong and has a solve of its own where one is weak; for functions that
// share a kernel contrasts give back the whole, V_n = k_nn (K^c - G Q'K^c) + G (Q'V_n Q) G', G = K^c Q (Q'K^c Q)^-1.

#include "gaussian/joint_factor.hpp"

#include <vector>

namespace gaussmith {

class BlockFactor final : public JointFactor {
 public:
  explicit BlockFactor(std::shared_ptr<const JointPrior> prior);

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  [[nodiscard]] Matrix dual(const Matrix& r) const override;
  [[nodiscard]] double half_log_det() const override;
  [[nodiscard]] Vector covariances() override;
  [[nodiscard]] Matrix kernel_precision(Index function) const override;
  [[nodiscard]] Matrix latent_traces() const override;
  [[nodiscard]] Vector reductions(const std::vector<CrossBlock>& points) const override;
  [[nodiscard]] Matrix joint_reduction(const std::vector<CrossBlock>& points) const override;

 private:
  /// Covariances of rows with points under every kernel, one or C of them.
  using Crosses = std::vector<const Matrix*>;
  /// How V_n comes from the part of it that sites see: k_nn left + weights (.) weights'.
  struct Whole {
    Matrix weights, left;
  };

  [[nodiscard]] Index rows() const { return prior_->rows(); }
  [[nodiscard]] Index functions() const { return prior_->functions(); }
  [[nodiscard]] Index width() const { return basis_.cols(); }
  [[nodiscard]] Index order() const { return rows() * width(); }
  [[nodiscard]] bool has_contrasts() const { return width() < functions(); }
  [[nodiscard]] Index negatives() const { return static_cast<Index>(negative_.size()); }

  /// Directions and roots; gives lambda.
  [[nodiscard]] Vector set_roots(const Vector& precision);
  void assemble();
  [[nodiscard]] bool down_date(const Vector& lambda);
  /// C^-1/2 a'.
  [[nodiscard]] Matrix negative_half(const Matrix& a) const;

  /// K_nn, C x C.
  [[nodiscard]] Matrix prior_block(Index n) const;
  /// R'K x for vectors x that are zero but for the C numbers of one row.
  [[nodiscard]] Matrix site_columns(const std::vector<Index>& row, const Matrix& x) const;
  /// K x for stacked columns x.
  [[nodiscard]] Matrix prior_times(const Matrix& x) const;
  /// (I ⊗ x)'a for stacked columns a: N numbers each.
  [[nodiscard]] Matrix contracted(const Matrix& a, const Vector& x) const;
  /// L^-1 R'(I ⊗ x), N k x N.
  [[nodiscard]] Matrix contracted_root(const Matrix& inverse, const Vector& x) const;
  /// L^-1 as it is kept, or found now.
  [[nodiscard]] const Matrix& inverse(Matrix& storage) const;

  [[nodiscard]] Crosses kernels() const;
  [[nodiscard]] Crosses crosses(const std::vector<CrossBlock>& points) const;
  /// R'(k* ⊗ Q) of points [begin, end), or R'K* itself for functions with kernels of their own; those of a point side
  /// by side, and what makes K*'Z+K* of their products.
  [[nodiscard]] Matrix cross_columns(const Crosses& cross, Index begin, Index end) const;
  [[nodiscard]] Matrix lift() const;
  /// C^-1/2 F'K*, C columns a point.
  [[nodiscard]] Matrix negative_columns(const Crosses& cross, Index begin, Index end) const;
  [[nodiscard]] Vector reductions_of(const Crosses& cross) const;

  /// Without weights where V_n cannot be had from what sites see.
  [[nodiscard]] Whole whole() const;
  /// V+ of rows [begin, end).
  void set_seen(Index begin, Index end, const Whole& whole, Vector& blocks) const;

  std::shared_ptr<const JointPrior> prior_;
  Matrix basis_;                 // Q.
  Matrix directions_;            // Q E, C x N k.
  Vector root_;                  // lambda+^1/2, N k.
  Matrix roots_;                 // R', N k x C.
  Matrix lower_;                 // L.
  Matrix inverse_;               // L^-1, where covariances() needed it.
  std::vector<Index> negative_;  // Rows with a negative lambda, one entry for each.
  Matrix negative_root_;         // U without its zeros, C x |J|.
  Matrix negative_dual_;         // F, N C x |J|.
  Matrix negative_cross_;        // V+U, N C x |J|.
  Matrix negative_lower_;        // Cholesky factor of C.
};

}  // namespace gaussmith
