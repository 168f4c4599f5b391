#pragma once
// From fits with their shares of an integral to averages.

#include "gaussmith/integrate.hpp"
#include "learn/integration_target.hpp"

#include <optional>
#include <vector>

namespace gaussmith {

/// A fit at a place; the integral over the places is the sum of exp(log_density + log_share).
struct IntegrationSample {
  Vector place;
  double log_density;
  double log_share;
  FittedGaussian fitted;
  Marginals latent, weights;
  std::optional<LeaveOneOut> left_out;
};

/// Fills points, evidence, moments and the posteriors of the parameters. `breadth` is for each parameter the standard
/// deviation of a kernel that makes a density of the points. The lightest samples that together weigh at most
/// `negligible` are left out.
void summarise_integration(std::vector<IntegrationSample> samples, const IntegrationTarget& target,
                           const Vector& breadth, double negligible, Integrated& out);

}  // namespace gaussmith
