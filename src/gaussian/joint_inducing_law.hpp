#pragma once
// The law of the inducing form with several latents: u ~ N(coordinates, (L L')^-1), and every other value follows from
// u and the prior.

#include "gaussian/joint_inducing.hpp"
#include "gaussian/posterior_law.hpp"

namespace gaussmith {

class JointInducingLaw final : public PosteriorLaw {
 public:
  JointInducingLaw(std::shared_ptr<const JointInducing> inducing, std::shared_ptr<const Matrix> lower,
                   Vector coordinates);

  using PosteriorLaw::predict;
  [[nodiscard]] Index width() const override { return inducing_->functions(); }
  [[nodiscard]] Index numbers_per_point() const override { return inducing_->rank() * inducing_->functions(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  /// (N C) x (N C); throws InvalidOption where that does not fit into memory.
  [[nodiscard]] Matrix weight_root() const override;

 private:
  std::shared_ptr<const JointInducing> inducing_;
  std::shared_ptr<const Matrix> lower_;  // L.
  Vector coordinates_;
  Matrix covariance_;  // Of u.
};

}  // namespace gaussmith
