#pragma once
// Precision form of the core, for D < N: A = I + G'T G over whitened weights u, G = H R, Sigma = R R'; without a
// Gaussian factor A = H'T H. Coordinates are u. Whitening makes singular Sigma harmless. Negative precisions need no
// special care: A is positive definite exactly when K^-1 + T is. Cost: N D^2 + D^3 / 3 a factorisation, N D^2 for all
// variances; memory D x D, and N x D for dense priors and operators; never N x N.

#include "gaussian/core.hpp"

namespace gaussmith {

class PrecisionCore final : public GaussianCore {
 public:
  PrecisionCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override { return geometry_->row_variances(); }
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] std::unique_ptr<SequentialGaussian> sweep(const LatentPoint& mean) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] Vector rounding(const LatentPoint& point) const override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 protected:
  [[nodiscard]] bool factorise(const Vector& precision) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;

 private:
  std::shared_ptr<Matrix> lower_;  // Cholesky factor of A, shared with the laws made of it.
};

}  // namespace gaussmith
