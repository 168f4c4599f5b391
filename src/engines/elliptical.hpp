#pragma once
// Elliptical slice sampling in several chains (docs/engines/sampling.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses models that the method does not take (InvalidOption).
void check_elliptical(const Model& model);

/// Fills the state from draws.
void run_elliptical(const EllipticalSlices& options, const Run& run, Posterior::State& state);

template <>
struct Engine<EllipticalSlices> {
  static constexpr const char* name = "ess";
  static constexpr const char* evidence = "none";
  static constexpr const char* sites = "all";
  static constexpr const char* summary = "Elliptical slice sampling in several chains, for Gaussian priors";
  static void check(const Model& model) { check_elliptical(model); }
  static void run(const EllipticalSlices& options, const Run& run, Posterior::State& state) {
    run_elliptical(options, run, state);
  }
};

}  // namespace gaussmith
