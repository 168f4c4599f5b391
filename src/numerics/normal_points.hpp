#pragma once
// Standard normal points for averages over a few Gaussian variables.

#include "numerics/sobol_sequence.hpp"
#include "numerics/special.hpp"

#include <vector>

namespace gaussmith {

/// Independent randomisations of scrambled Sobol' points, whose spread shows the error of an average.
class NormalPoints {
 public:
  NormalPoints(Index dimension, Index shifts, std::uint64_t seed) {
    Random random(seed);
    for (Index shift = 0; shift < shifts; ++shift) sequences_.emplace_back(dimension, random);
  }

  /// Uniform points of one shift, a row each: a power of two of them from a multiple of it on.
  void fill_uniform(Index shift, Index from, Eigen::Ref<Matrix> u) const {
    sequences_[static_cast<std::size_t>(shift)].block(static_cast<std::uint32_t>(from), u);
  }
  /// The same for normal ones.
  void fill(Index shift, Index from, Eigen::Ref<Matrix> z) const {
    fill_uniform(shift, from, z);
    for (double& x : z.reshaped()) x = normal_quantile(x);
  }

 private:
  std::vector<SobolSequence> sequences_;
};

}  // namespace gaussmith
