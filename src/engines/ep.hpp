#pragma once
// Expectation propagation (docs/engines/ep.md).

#include "engines/engine.hpp"
#include "gaussian/core.hpp"

namespace gaussmith {

void run_ep(const Ep& options, const Run& run, Posterior::State& state);

/// The same on a core that is given, whose rows are the model's and whose Gaussian factor may be more than its prior.
void run_ep_on(const std::shared_ptr<GaussianCore>& core, const Ep& options, const Run& run, Posterior::State& state);

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
