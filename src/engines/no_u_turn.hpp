#pragma once
// The no-U-turn sampler in several chains (docs/engines/sampling.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses models that the method does not take (InvalidOption).
void check_no_u_turn(const Model& model);

/// Fills the state from draws.
void run_no_u_turn(const NoUTurn& options, const Run& run, Posterior::State& state);

template <>
struct Engine<NoUTurn> {
  static constexpr const char* name = "nuts";
  static constexpr const char* evidence = "none";
  static constexpr const char* sites = "all";
  static constexpr const char* summary = "The no-U-turn sampler in several chains, for every prior";
  static void check(const Model& model) { check_no_u_turn(model); }
  static void run(const NoUTurn& options, const Run& run, Posterior::State& state) {
    run_no_u_turn(options, run, state);
  }
};

}  // namespace gaussmith
