#pragma once
// The law of the inducing form: u ~ N(coordinates, (L L')^-1), and every other value of the process is drawn given u.
// New inputs cost M^2 each; so do rows of w, which are values of the process at the model's inputs.

#include "gaussian/posterior_law.hpp"
#include "gaussian/seen_points.hpp"

namespace gaussmith {

class InducingLaw final : public PosteriorLaw {
 public:
  /// The geometry is that of a basis.
  InducingLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const Matrix> lower, Vector coordinates);

  using PosteriorLaw::predict;
  [[nodiscard]] Index numbers_per_point() const override { return geometry_->dimension(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  /// N x (M + N); throws InvalidOption where that does not fit into memory.
  [[nodiscard]] Matrix weight_root() const override;

 private:
  /// With a(x) in place of the covariances.
  [[nodiscard]] SeenPoints see_whitened(const NewPoints& points, Index begin, Index end) const;

  [[nodiscard]] const InducingBasis& basis() const { return *geometry_->basis(); }

  std::shared_ptr<const Matrix> lower_;  // L.
  Vector coordinates_;
};

}  // namespace gaussmith
