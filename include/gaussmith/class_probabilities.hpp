#pragma once
// How class probabilities, integrals over the latents of a point, are to be found.

#include <cstdint>

namespace gaussmith {

enum class ProbabilityRule {
  automatic,   ///< Quadrature up to three classes, unless it would take too many nodes; otherwise points.
  quadrature,  ///< Up to three classes.
  qmc          ///< Randomised quasi-Monte Carlo.
};

struct ProbabilityGoal {
  ProbabilityRule rule = ProbabilityRule::automatic;
  double tolerance = 1e-4;  ///< The absolute error asked for; smaller buys more points, up to a limit.
  std::uint64_t seed = 0;
  int threads = 1;  ///< 0: all cores.
};

}  // namespace gaussmith
