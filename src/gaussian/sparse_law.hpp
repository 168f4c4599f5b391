#pragma once
// The law of the sparse form: w - mean ~ N(coordinates, A^-1) within the constraints. New points cost a solve with the
// factor each; the weights' own variances are known.

#include "gaussian/posterior_law.hpp"
#include "gaussian/sparse_core.hpp"

namespace gaussmith {

class SparseLaw final : public PosteriorLaw {
 public:
  /// Variances of the weights, and covariances of w_j and w_(j+1) where the pattern has them.
  struct Known {
    Vector variance, neighbour;
  };
  SparseLaw(std::shared_ptr<const PriorGeometry> geometry, std::shared_ptr<const SparseGaussian> gaussian, Known known,
            Vector coordinates, Vector precision);

  using PosteriorLaw::predict;
  [[nodiscard]] Index numbers_per_point() const override { return 3 * geometry_->dimension(); }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Marginals weights() const override;
  [[nodiscard]] Vector neighbour_covariances() const override { return known_.neighbour; }
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  [[nodiscard]] Matrix weight_root() const override;
  [[nodiscard]] Matrix weight_deviations(int draws, Random& random) const override;
  void describe(FittedGaussian& out) const override;

 private:
  std::shared_ptr<const SparseGaussian> gaussian_;
  Known known_;
  Vector coordinates_;
  Vector precision_;  // Of the sites, from which the factor can be made again.
};

}  // namespace gaussmith
