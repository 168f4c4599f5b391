#pragma once
// New points of a process as its inducing variables see them: combinations of values of the process, by their
// covariances with the inducing variables.

#include "gaussian/inducing_points.hpp"
#include "gaussian/prior_geometry.hpp"

namespace gaussmith {

struct SeenPoints {
  Matrix cross;     ///< Covariances of the inducing variables with the points, size x points.
  Vector sums;      ///< What the process's mean is multiplied by: 1 for a value, the sum of a row of weights.
  Vector variance;  ///< Prior.
};

/// Points [begin, end): new inputs, or rows of weights, which are values of the process at its own inputs.
[[nodiscard]] SeenPoints see(const InducingPoints& inducing, const NewPoints& points, Index begin, Index end);

/// The prior covariance of all pairs of points.
[[nodiscard]] Matrix prior_covariance(const GaussianProcess& process, const NewPoints& points, int threads);

}  // namespace gaussmith
