#pragma once
// Many rows of few weights, K = (G G') ⊗ K^c with G of N x rank: nothing has N x N numbers.
//
// Sites see K^c = half half' + left through `half` alone (gaussian/seen_functions.hpp), C x q. With X = G ⊗ half,
//   A = I + X'T X = L L' of order rank q,  V = X A^-1 X' + (G G') ⊗ left.
// T may be indefinite: A is positive definite exactly when K^-1 + T is.

#include "gaussian/joint_factor.hpp"
#include "gaussian/seen_functions.hpp"

namespace gaussmith {

class RootFactor final : public JointFactor {
 public:
  /// The prior has a root.
  explicit RootFactor(std::shared_ptr<const JointPrior> prior);

  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  [[nodiscard]] Matrix dual(const Matrix& r) const override;
  [[nodiscard]] double half_log_det() const override;
  [[nodiscard]] Vector covariances() override;
  /// Throws std::logic_error: it is N x N, and weights have no kernel that would need it.
  [[nodiscard]] Matrix kernel_precision(Index function) const override;
  [[nodiscard]] Matrix latent_traces() const override;
  [[nodiscard]] Vector reductions(const std::vector<CrossBlock>& points) const override;
  [[nodiscard]] Matrix joint_reduction(const std::vector<CrossBlock>& points) const override;

 private:
  [[nodiscard]] Index rows() const { return prior_->rows(); }
  [[nodiscard]] Index functions() const { return prior_->functions(); }
  [[nodiscard]] Index rank() const { return prior_->root().cols(); }
  [[nodiscard]] Index width() const { return seen_.half.cols(); }
  [[nodiscard]] Index order() const { return rank() * width(); }

  /// T_n.
  [[nodiscard]] Eigen::Map<const Matrix> precision(Index n) const;
  /// left'T_n right for every row: an N-vector for each of its entries, column-major.
  [[nodiscard]] Matrix weights(const Matrix& left, const Matrix& right) const;
  /// out := G'diag(w_ij)G in its rank x rank blocks (i, j), all of them or those of the lower triangle.
  void set_grams(const Matrix& weights, Index block_rows, bool lower_alone, Matrix& out) const;
  /// L^-1 (g ⊗ I) for the columns g: those of the same entry of I together.
  [[nodiscard]] Matrix half_solved(const Matrix& g) const;
  /// half (g ⊗ I)'A^-1(g ⊗ I) half' + |g|^2 left for every column g, C x C numbers each.
  [[nodiscard]] Vector covariances_of(const Matrix& g) const;

  std::shared_ptr<const JointPrior> prior_;
  SeenFunctions seen_;
  Vector precision_;
  Matrix lower_;  // L; entry (a, j) of half's column a and G's column j at a rank + j.
};

}  // namespace gaussmith
