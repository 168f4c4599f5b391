#pragma once
// Single latents of related functions: z_i = f_c(x) for any pairs of an input and a latent, cov(z_i, z_j) = K^c_cc'
// k(x, x') + noise, so that every row of A is dense: A'T A and the blocks of V take 2 N C s^2 flops each. Values have
// no white noise of their own.

#include "gaussian/joint_inducing.hpp"

namespace gaussmith {

class RelatedInducing final : public JointInducing {
 public:
  RelatedInducing(const GaussianProcess& process, const Latents& latents, int threads);
  RelatedInducing(const GaussianProcess& process, const FittedGaussian& fitted, int threads);

  [[nodiscard]] Index given() const override { return given_; }
  [[nodiscard]] Index rank() const override { return triangle_.rows(); }
  [[nodiscard]] Rows see(const NewPoints& points, Index begin, Index end) const override;
  [[nodiscard]] Vector times(const Rows& rows, const Vector& u) const override;
  [[nodiscard]] Vector transposed_times(const Rows& rows, const Vector& x) const override;
  [[nodiscard]] Matrix gram(const Rows& rows, const Vector& blocks) const override;
  [[nodiscard]] Vector covariances(const Rows& rows, const Matrix& s) const override;
  [[nodiscard]] Matrix matrix(const Rows& rows) const override { return rows.panels.front().transpose(); }
  [[nodiscard]] ParameterGradient gradient(const Stationary& at) const override;
  [[nodiscard]] double inverse_norm() const override;
  void describe(FittedGaussian& out) const override;

 private:
  /// A value: which of the points, and of which latent.
  struct Value {
    Index point, latent;
  };
  /// K^c between latents times k between points, by values.
  [[nodiscard]] Matrix value_covariance(const Matrix& by_points) const;

  InducingPoints points_;
  std::vector<Value> values_;  // Those that count.
  Vector noise_;
  Matrix triangle_;
  Index given_ = 0;
};

}  // namespace gaussmith
