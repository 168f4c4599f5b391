#pragma once
// The chance that one of several correlated normal variables is the largest, by separation of variables (A. Genz,
// Numerical computation of multivariate normal probabilities, Journal of Computational and Graphical Statistics 1,
// 1992), in single precision.

#include "gaussmith/types.hpp"
#include "numerics/softmax_pairs.hpp"

#include <vector>

namespace gaussmith {

/// The differences of the others to `label`, x ~ N(m, S), are all negative: x = m + L z with the variables in such an
/// order that the least likely ones, given the ones before, come first. Then the chance is the mean over the unit cube
/// of
///   prod_k Phi(t_k),  t_k = -(m_k + sum_{j<k} L_kj z_j)/L_kk,  z_k = Phi^-1(u_k Phi(t_k)).
class OrthantChance {
 public:
  OrthantChance(Index label, const Vector& mean, const Matrix& covariance);

  /// Adds the product at groups of uniform points with `dimension` >= C - 2 coordinates. Good to 1e-6 a point.
  [[nodiscard]] double add(const std::vector<float>& points, Index groups, Index dimension);

 private:
  Index count_;                        // C - 1.
  std::vector<float> bound_, factor_;  // -m_k/L_kk; rows of L/L_kk below the diagonal, one after the other.
  std::vector<float> work_;
};

}  // namespace gaussmith
