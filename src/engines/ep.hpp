#pragma once
// Expectation propagation (docs/engines/ep.md).

#include "engines/engine.hpp"

namespace gaussmith {

void run_ep(const Ep& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Ep> {
  static constexpr const char* name = "ep";
  static constexpr const char* evidence = "approximation";
  static constexpr const char* sites = "all";
  static constexpr const char* summary =
      "Expectation propagation: moments matched site by site, escalating by itself; usually the most accurate";
  static void check(const Model& /*model*/) {}  // Every site has tilted moments.
  static void run(const Ep& options, const Run& run, Posterior::State& state) { run_ep(options, run, state); }
};

}  // namespace gaussmith
