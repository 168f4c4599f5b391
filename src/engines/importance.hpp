#pragma once
// Importance sampling from t's around a Gaussian fit (docs/engines/sampling.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses models that the method does not take (InvalidOption).
void check_importance(const Model& model);

/// Fills the state from draws.
void run_importance(const ImportanceSampling& options, const Run& run, Posterior::State& state);

template <>
struct Engine<ImportanceSampling> {
  static constexpr const char* name = "is";
  static constexpr const char* evidence = "estimate";
  static constexpr const char* sites = "all";
  static constexpr const char* summary =
      "Importance sampling around a Gaussian fit: evidence and moments with standard errors";
  static void check(const Model& model) { check_importance(model); }
  static void run(const ImportanceSampling& options, const Run& run, Posterior::State& state) {
    run_importance(options, run, state);
  }
};

}  // namespace gaussmith
