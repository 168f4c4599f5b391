#pragma once
// The law of rows with several latents: mean of w by the dual a, covariances through the factor that the core has made.
// Everything about a point has C numbers, or C x C.

#include "gaussian/joint_factor.hpp"
#include "gaussian/posterior_law.hpp"

namespace gaussmith {

class JointLaw final : public PosteriorLaw {
 public:
  JointLaw(std::shared_ptr<const JointPrior> prior, std::shared_ptr<const JointFactor> factor, SiteApproximation sites,
           Vector dual);

  using PosteriorLaw::predict;
  [[nodiscard]] Index width() const override { return prior_->functions(); }
  [[nodiscard]] Index numbers_per_point() const override { return prior_->rows() * prior_->functions(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  [[nodiscard]] Matrix weight_root() const override;

 private:
  /// M x C.
  [[nodiscard]] Matrix means(const NewPoints& points, const std::vector<CrossBlock>& blocks, Index begin,
                             Index end) const;

  std::shared_ptr<const JointPrior> prior_;
  std::shared_ptr<const JointFactor> factor_;
  SiteApproximation sites_;
  Matrix dual_;  // N x C.
};

}  // namespace gaussmith
