#pragma once
// f_n = B g_n with independent functions g of a basis each, or of one that all share: A_n = B blockdiag(a_1, ..., a_Q).
// Either the latents are independent, B diagonal; or all have values at the same places, K^c = B B', and the inducing
// variables are whitened as B is. The s values stand function by function.
//
// A'T A and the blocks of V take N s^2 flops each, whatever the number of functions.

#include "gaussian/inducing_basis.hpp"
#include "gaussian/joint_inducing.hpp"

namespace gaussmith {

class IndependentInducing final : public JointInducing {
 public:
  /// `complete`: all latents have values at the same places.
  IndependentInducing(const GaussianProcess& process, const Latents& latents, int threads, bool complete);
  IndependentInducing(const GaussianProcess& process, const FittedGaussian& fitted, int threads, bool complete);

  [[nodiscard]] Index given() const override { return given_; }
  [[nodiscard]] Index rank() const override { return starts_.back(); }
  [[nodiscard]] Rows see(const NewPoints& points, Index begin, Index end) const override;
  [[nodiscard]] Vector times(const Rows& rows, const Vector& u) const override;
  [[nodiscard]] Vector transposed_times(const Rows& rows, const Vector& x) const override;
  [[nodiscard]] Matrix gram(const Rows& rows, const Vector& blocks) const override;
  [[nodiscard]] Vector covariances(const Rows& rows, const Matrix& s) const override;
  [[nodiscard]] Matrix matrix(const Rows& rows) const override;
  [[nodiscard]] ParameterGradient gradient(const Stationary& at) const override;
  [[nodiscard]] double inverse_norm() const override;
  void describe(FittedGaussian& out) const override;

 private:
  /// A kernel's points; no basis where a function has no inducing variables.
  struct Part {
    InducingPoints points;
    std::shared_ptr<const InducingBasis> basis;
  };
  void count_values();
  /// Q.
  [[nodiscard]] Index mixed() const { return mix_.cols(); }
  [[nodiscard]] std::size_t part(Index function) const { return shared_ ? 0 : static_cast<std::size_t>(function); }
  [[nodiscard]] Index start(Index function) const { return starts_[static_cast<std::size_t>(function)]; }
  [[nodiscard]] Index size(Index function) const { return start(function + 1) - start(function); }
  /// B'T_n B for every row, Q x Q numbers each.
  [[nodiscard]] Vector mixed_blocks(const Vector& blocks) const;
  /// x by the functions g: points x Q of x B.
  [[nodiscard]] Matrix mixed_columns(const Vector& x) const;

  std::vector<Part> parts_;  // One for all functions, or one each.
  bool shared_ = false;
  Matrix mix_;                 // B.
  bool plain_ = false;         // B = I.
  std::vector<Index> starts_;  // Of each function's values among the coordinates; then their number.
  Index given_ = 0;
};

}  // namespace gaussmith
