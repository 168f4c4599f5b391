#pragma once
// Annealed importance sampling (Neal 2001): particles of a reference Gaussian are led to the posterior through powers
// of their ratio, by elliptical slice moves that leave each power's distribution alone. The weights gathered on the way
// average to the evidence without bias.

#include "base/progress.hpp"
#include "sampling/chains.hpp"

namespace gaussmith {

struct AnnealingOptions {
  Index particles = 1000;
  int temperatures = 200;  ///< Powers between 0 and 1.
  int moves = 1;           ///< At every power.
  std::uint64_t seed = 0;
  int threads = 1;
};

struct AnnealedParticles {
  Matrix latents;      ///< N C x particles.
  Matrix weights;      ///< D C x particles; empty where the weights are the latents but for the offset.
  Vector log_weights;  ///< Of the particles, raw; their mean is the evidence.
  double log_evidence = 0.0, evidence_error = 0.0, effective = 0.0, pareto_k = 0.0;
  Vector smoothed;       ///< Pareto-smoothed weights that sum to one.
  bool stopped = false;  ///< Fewer particles than asked for, because the caller wanted no more.
};

/// The reference of the target must be a distribution, the prior or a fit.
[[nodiscard]] AnnealedParticles anneal(const ChainTarget& target, const AnnealingOptions& options,
                                       const Progress& progress);

}  // namespace gaussmith
