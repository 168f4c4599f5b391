#pragma once
// Other modes of a posterior whose sites are not log-concave: what a Gaussian at one of them cannot know about. No
// search finds all; how many starts were made and what they found is part of the answer (docs/trust.md).

#include "base/progress.hpp"
#include "sampling/reference_gaussian.hpp"

#include <memory>
#include <string>
#include <vector>

namespace gaussmith {

struct FoundMode {
  Vector eta;                  ///< At the rows.
  Vector place;                ///< In the coordinates v of the space.
  double log_mass = 0.0;       ///< By Laplace's method.
  std::vector<bool> outvoted;  ///< Rows where log t is convex there.
};

struct ModeSearchResult {
  bool searched = false;  ///< False: `why` says why not.
  std::string why;
  int starts = 0;
  std::vector<FoundMode> modes;  ///< Distinct, by falling mass.
};

/// How much a search may cost, by the flops of a step.
struct ModeSearchCost {
  double dear = 2e8;      ///< Beyond, a quarter of the random starts have to do.
  double dearest = 2e10;  ///< Beyond, there is no search; one just below takes minutes.
};
/// Less than what a card may cost: where the search is only the beginning of the draws.
inline constexpr ModeSearchCost before_draws{.dear = 2e7, .dearest = 5e8};

/// Climbs from the Gaussian's mean, draws from the prior, exact fits of a few random rows, and fits of the rows that
/// the modes found so far outvote. None of it where all sites are log-concave: there is one mode.
///
/// Tells `progress` of every climb; Next::accept ends the search with what it has found. The same bits at any number of
/// threads.
[[nodiscard]] ModeSearchResult find_modes(const Model& model, const SamplingSpace& space, const Vector& mean,
                                          std::uint64_t seed, int threads, const Progress& progress,
                                          const ModeSearchCost& cost = {});

/// How many of the modes, the first ones, have mass enough to be drawn around; eight at most.
[[nodiscard]] std::size_t modes_with_mass(const std::vector<FoundMode>& modes);

/// Gaussians with the curvature of the posterior at those; none for a mode where that is none.
[[nodiscard]] std::vector<ReferenceGaussian> gaussians_at(const std::vector<FoundMode>& modes,
                                                          const std::shared_ptr<const SamplingSpace>& space,
                                                          const Model& model);

}  // namespace gaussmith
