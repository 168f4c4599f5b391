#pragma once
// Variational mean field of probit sites with their auxiliary variables a = f + noise: q(f) q(a)
// (docs/engines/classes.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses sites that are not multinomial-probit (InvalidOption).
void check_vmf(const Model& model);

/// Fills the state from the optimum of the mean field bound in its closed form.
void run_vmf(const Vmf& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Vmf> {
  static constexpr const char* name = "vmf";
  static constexpr const char* evidence = "lower-bound";
  static constexpr const char* sites = "multinomial-probit";
  static constexpr const char* summary =
      "mean field of probit sites and their auxiliary variables: cheap, and the loosest of the bounds";
  static void check(const Model& model) { check_vmf(model); }
  static void run(const Vmf& options, const Run& run, Posterior::State& state) { run_vmf(options, run, state); }
};

}  // namespace gaussmith
