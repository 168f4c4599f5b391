#pragma once
// Covariance form of the core, for N <= D and Gaussian processes: B = I + T^1/2 K T^1/2 (covariance_factor.hpp).
// Coordinates are the dual a. Cost: N^3 / 3 a factorisation, N^3 / 3 for all variances; memory three N x N matrices.

#include "gaussian/core.hpp"
#include "gaussian/covariance_factor.hpp"

namespace gaussmith {

class CovarianceCore final : public GaussianCore {
 public:
  CovarianceCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  using GaussianCore::mean;
  [[nodiscard]] bool factorises_cheaply() const override;
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override { return {factor_->half_log_det()}; }
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] std::unique_ptr<SequentialGaussian> sweep(const LatentPoint& mean) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  [[nodiscard]] double evidence_rounding(const LatentPoint& at) override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override { return at.coordinates; }

 private:
  const Matrix* k_;                           // Owned by the geometry.
  std::shared_ptr<CovarianceFactor> factor_;  // Shared with the laws made of it.
};

}  // namespace gaussmith
