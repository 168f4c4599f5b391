#pragma once
// How the evidence changes with the covariance of weights that stand in small blocks.

#include "gaussian/posterior_law.hpp"

#include <vector>

namespace gaussmith {

/// M with d log Z = tr(M dSigma) in the blocks of Sigma: 1/2 (a a' - Z + g a' + a g') with the duals a = P (E[w] -
/// mean), Z = P - P V P, P the inverse of a block of Sigma and V that of the posterior. Costs as much as the weights'
/// variances.
class BlockWeights {
 public:
  /// `pull` is g over the weights, H'g of an engine's implicit terms; may be empty. The geometry is lent.
  BlockWeights(const PriorGeometry& geometry, const PosteriorLaw& law, Vector pull);
  /// The same for these independent weights alone.
  BlockWeights(const PriorGeometry& geometry, const PosteriorLaw& law, Vector pull, const std::vector<Index>& chosen);

  /// For weights [first, first + size), size 1 or 2.
  [[nodiscard]] Matrix operator()(Index first, Index size) const;

 private:
  const PriorGeometry* geometry_;
  Marginals weights_;
  Vector neighbours_;  // Cov(w_j, w_(j+1)); empty for independent weights.
  Vector pull_;
};

}  // namespace gaussmith
