#pragma once
// Variational mean field between the latents and the auxiliary variables of the sites: scales of a normal, noisy
// latents (docs/engines/vmf.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses sites without auxiliary variables (InvalidOption).
void check_vmf(const Model& model);

/// Fills the state from the optimum of the mean field bound.
void run_vmf(const Vmf& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Vmf> {
  static constexpr const char* name = "vmf";
  static constexpr const char* evidence = "lower-bound";
  static constexpr const char* sites = "scale mixtures, probit, multinomial-probit";
  static constexpr const char* summary =
      "mean field of sites and their auxiliary variables: a posterior of every row's scale, an outlier score";
  static void check(const Model& model) { check_vmf(model); }
  static void run(const Vmf& options, const Run& run, Posterior::State& state) { run_vmf(options, run, state); }
};

}  // namespace gaussmith
