#pragma once
// What a posterior asks of its Gaussian once inference is over: moments at new points, draws, and a form to save.

#include "gaussian/prior_geometry.hpp"
#include "gaussmith/predict.hpp"
#include "gaussmith/random.hpp"

namespace gaussmith {

/// A point eta in the coordinates of a Gaussian: the dual a (eta = m0 + K a), the whitened weights u (eta = m0 + G u)
/// or the weights w. Lines between points are lines in both members.
struct LatentPoint {
  Vector coordinates;
  Vector eta;
};

class PosteriorGaussian {
 public:
  explicit PosteriorGaussian(std::shared_ptr<PriorGeometry> geometry) : geometry_(std::move(geometry)) {}
  virtual ~PosteriorGaussian() = default;

  [[nodiscard]] const PriorGeometry& geometry() const { return *geometry_; }

  /// How many numbers a new point takes while it is predicted; bounds the size of blocks.
  [[nodiscard]] virtual Index numbers_per_point() const = 0;

  /// Mean (without offset) and variance of new points under q with the mean `at`.
  virtual void predict(const NewPoints& points, Index begin, Index end, const LatentPoint& at, Vector& mean,
                       Vector& variance) const = 0;

  /// Covariance of new points under q, all pairs.
  [[nodiscard]] virtual Matrix joint_covariance(const NewPoints& points) const = 0;

  /// A root S of the covariance of w, S S' = Cov(w): D rows.
  [[nodiscard]] virtual Matrix weight_root() const = 0;

  /// Draws of w minus its mean: D x draws. By default S z.
  [[nodiscard]] virtual Matrix weight_deviations(int draws, Random& random) const;

  /// Writes what prediction needs into the plain form.
  virtual void describe(const LatentPoint& at, FittedGaussian& out) const = 0;

 protected:
  std::shared_ptr<PriorGeometry> geometry_;
};

/// Standard normal numbers, column by column.
[[nodiscard]] Matrix normal_matrix(Index rows, Index cols, Random& random);

}  // namespace gaussmith
