#pragma once
// The law of the precision form: u ~ N(coordinates, (L L')^-1), w = mean + R u. New points cost D^2 each.

#include "gaussian/posterior_law.hpp"

namespace gaussmith {

class FactorLaw final : public PosteriorLaw {
 public:
  /// The geometry is whitened.
  FactorLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const Matrix> lower, Vector coordinates);

  using PosteriorLaw::predict;
  [[nodiscard]] Index numbers_per_point() const override { return geometry_->dimension(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  [[nodiscard]] Matrix weight_root() const override;

 private:
  std::shared_ptr<const Matrix> lower_;  // L.
  Vector coordinates_;
};

}  // namespace gaussmith
