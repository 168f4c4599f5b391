#pragma once
// A Gaussian given by its mean and a root of its covariance (gaussmith/predict.hpp, CovarianceRoot), for families that
// are not of the site form. Over the weights w, or over the whitened weights u with w = mean + R u. New inputs of a
// process given w: mean k'K^-1 (w - mean), variance k** - k'K^-1 k, so that the root adds |root K^-1 k|^2.

#include "gaussian/posterior_law.hpp"

namespace gaussmith {

class RootLaw final : public PosteriorLaw {
 public:
  /// Whitens the geometry where predictions need it: whitened roots and processes.
  RootLaw(const std::shared_ptr<PriorGeometry>& geometry, CovarianceRoot covariance, Vector coordinates);

  [[nodiscard]] const CovarianceRoot& covariance() const { return covariance_; }
  /// The mean of w, or of u where covariance().whitened.
  [[nodiscard]] const Vector& coordinates() const { return coordinates_; }

  using PosteriorLaw::predict;
  [[nodiscard]] Index numbers_per_point() const override {
    return transposed_root_.size() > 0 ? transposed_root_.cols() : covariance_.root.cols();
  }
  void predict(const NewPoints& points, Index begin, Index end, Vector& mean, Vector& variance) const override;
  [[nodiscard]] Matrix joint_covariance(const NewPoints& points) const override;
  void describe(FittedGaussian& out) const override;
  [[nodiscard]] Matrix weight_root() const override;
  [[nodiscard]] Matrix weight_deviations(int draws, Random& random) const override;

 private:
  /// New points in the coordinates of the root, one a column, with what the coordinates leave open.
  [[nodiscard]] WhitenedBlock rows_at(const NewPoints& points, Index begin, Index end) const;

  CovarianceRoot covariance_;
  Vector coordinates_;
  Matrix transposed_root_;  // Where the root is nearly dense and rows of weights are all that is asked: D rows.
};

}  // namespace gaussmith
