#pragma once
// Sums of softmaxes at antithetic pairs of points, in single precision.

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// Points stand in groups of this many, a coordinate of all of them side by side: point i of a group has its coordinate
/// k at group * dimension * single_lanes + k * single_lanes + i.
inline constexpr Index single_lanes = 64;

/// Normal quantiles of uniform numbers, for points.
void normal_quantiles(const std::vector<float>& uniform, std::vector<float>& normal);

class SoftmaxPairs {
 public:
  /// f = mean + directions z.
  SoftmaxPairs(const Vector& mean, const Matrix& directions);

  /// Adds softmax(mean + directions z) + softmax(mean - directions z) of groups of points with `dimension` coordinates,
  /// of which the first are z. Good to 1e-6 a point.
  void add(const std::vector<float>& points, Index groups, Index dimension, Eigen::Ref<Vector> sum);

 private:
  Index classes_, directions_;
  std::vector<float> mean_, weight_;  // Directions of a class side by side.
  std::vector<float> work_, sum_;
};

}  // namespace gaussmith
