#pragma once
// The law of the covariance form: mean of w = mean + Sigma H'a with the dual a, covariances through the factor of
// I + T^1/2 K T^1/2. New points cost N^2 each for their variances.

#include "gaussian/covariance_factor.hpp"
#include "gaussian/posterior_law.hpp"

namespace gaussmith {

class DualLaw final : public PosteriorLaw {
 public:
  DualLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const CovarianceFactor> factor, Vector dual);

  using PosteriorLaw::predict;
  [[nodiscard]] Index numbers_per_point() const override { return geometry_->rows(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  [[nodiscard]] Matrix weight_root() const override;

 private:
  std::shared_ptr<const CovarianceFactor> factor_;
  Vector dual_;
};

}  // namespace gaussmith
