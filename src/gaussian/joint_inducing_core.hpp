#pragma once
// The inducing form for rows of several latents: coordinates are u, eta = m0 + A u + rest (JointInducing), and
//   V_n = A_n Sigma A_n' + R_n,  Sigma = (I + A'T A)^-1.
// Cost: that of A'T A and of the blocks, and s^3 of s inducing variables.

#include "gaussian/core.hpp"
#include "gaussian/joint_inducing.hpp"

namespace gaussmith {

class JointInducingCore final : public GaussianCore {
 public:
  JointInducingCore(std::shared_ptr<const JointInducing> inducing, const Vector& offset);

  [[nodiscard]] const JointInducing& inducing() const { return *inducing_; }
  [[nodiscard]] const JointInducing::Rows& seen_rows() const { return rows_; }
  [[nodiscard]] std::string description() const override;

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  [[nodiscard]] const Vector& leftover() const override { return rows_.leftover; }
  /// Of what sites act upon.
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  /// Of a bound that is stationary in q(u).
  [[nodiscard]] ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                 const Vector& implicit) const override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] const Vector& row_covariances() const override { return covariances_; }
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 private:
  /// Sigma x.
  [[nodiscard]] Vector solve(Vector x) const;

  std::shared_ptr<const JointInducing> inducing_;
  JointInducing::Rows rows_;
  std::shared_ptr<Matrix> lower_;  // Of I + A'T A; shared with the laws made of it.
  Vector covariances_;
};

}  // namespace gaussmith
