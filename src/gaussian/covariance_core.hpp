#pragma once
// Covariance form of the core, for N <= D and Gaussian processes: B = I + T^1/2 K T^1/2 (covariance_factor.hpp).
// Cost: N^3 / 3 a factorisation, N^3 / 3 for all variances; memory three N x N matrices.

#include "gaussian/core.hpp"
#include "gaussian/covariance_factor.hpp"

namespace gaussmith {

class CovarianceCore final : public GaussianCore {
 public:
  CovarianceCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  [[nodiscard]] CoreForm form() const override { return CoreForm::covariance; }
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] bool factorise(const Vector& precision) override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift) const override;
  [[nodiscard]] double half_log_det() const override { return factor_.half_log_det(); }
  [[nodiscard]] Vector variances(Vector* slack) override { return factor_.variances(*k_, slack); }
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
  const Matrix* k_;  // Owned by the geometry.
  Vector precision_;
  CovarianceFactor factor_;
};

}  // namespace gaussmith
