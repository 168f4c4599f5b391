#pragma once
// Annealed importance sampling (docs/engines/sampling.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses models that the method does not take (InvalidOption).
void check_annealed(const Model& model);

/// Fills the state from draws.
void run_annealed(const AnnealedImportance& options, const Run& run, Posterior::State& state);

template <>
struct Engine<AnnealedImportance> {
  static constexpr const char* name = "ais";
  static constexpr const char* evidence = "estimate";
  static constexpr const char* sites = "all";
  static constexpr const char* summary =
      "Annealed importance sampling: evidence with a standard error, also where one Gaussian is far off";
  static void check(const Model& model) { check_annealed(model); }
  static void run(const AnnealedImportance& options, const Run& run, Posterior::State& state) {
    run_annealed(options, run, state);
  }
};

}  // namespace gaussmith
