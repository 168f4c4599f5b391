#pragma once
// Precision form of the core, for D < N: A = I + G'T G over whitened weights u, G = H R, Sigma = R R'; without a
// Gaussian factor A = H'T H. Whitening makes singular Sigma harmless. Negative precisions need no special care: A is
// positive definite exactly when K^-1 + T is. Cost: N D^2 + D^3 / 3 a factorisation, N D^2 for all variances; memory N
// x D and D x D, never N x N.

#include "gaussian/core.hpp"

namespace gaussmith {

class PrecisionCore final : public GaussianCore {
 public:
  PrecisionCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  [[nodiscard]] CoreForm form() const override { return CoreForm::precision; }
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] bool factorise(const Vector& precision) override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift) const override;
  [[nodiscard]] double half_log_det() const override;
  [[nodiscard]] Vector variances(Vector* slack) override;
  [[nodiscard]] Vector dual(const LatentPoint& mean, const Vector& shift) const override;
  [[nodiscard]] Vector rounding(const LatentPoint& point) const override;
  [[nodiscard]] Matrix coordinate_covariance() const override;
  [[nodiscard]] Matrix coordinate_rows(Index begin, Index end) const override;
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& mean, const Vector& shift,
                                          const Vector& implicit) const override;
  void predict(const NewPoints& points, Index begin, Index end, const LatentPoint& at, Vector& mean,
               Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  [[nodiscard]] Matrix weight_root() const override;
  void describe(const LatentPoint& at, FittedGaussian& out) const override;

 private:
  Vector precision_;
  Matrix gram_;   // G'T G, lower.
  Matrix lower_;  // Cholesky factor of A.
};

}  // namespace gaussmith
