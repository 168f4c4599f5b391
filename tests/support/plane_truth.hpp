#pragma once
// The posterior of a model with one or two independent weights by a fine grid, for tests: it knows the prior and log t,
// and nothing of how the library finds Gaussians.

#include "gaussmith/model.hpp"

namespace gaussmith::testing {

struct PlaneTruth {
  double log_evidence = 0.0;
  Vector weights_mean, weights_sd;
  Vector rows_mean, rows_sd;
  Matrix nodes;  ///< The grid, one column a node, and the posterior mass of each.
  Vector mass;
};

/// Isotropic priors of dimension 1 or 2 with a dense or identity design.
PlaneTruth plane_truth(const Model& model, int steps = 241);

/// Mean, sd and skewness of b'w + offset.
struct LineTruth {
  double mean, sd, skewness;
};
LineTruth line_truth(const PlaneTruth& truth, const Vector& b, double offset);

/// The density of b'w + offset at the points x, by integrating along the lines b'w = x - offset.
Vector line_density(const Model& model, const PlaneTruth& truth, const Vector& b, double offset, const Vector& x);

}  // namespace gaussmith::testing
