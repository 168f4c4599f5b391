#pragma once
// Gaussian KL: the q that maximises E_q[log p(y, w)] + entropy, a lower bound on the evidence (docs/engines/kl.md).

#include "engines/engine.hpp"
#include "gaussian/core.hpp"

namespace gaussmith {

/// Fills the state from the optimum of the bound. Refuses a covariance that does not suit the model or does not fit
/// into memory before any work (InvalidOption).
void run_kl(const Kl& options, const Run& run, Posterior::State& state);

/// The same with a full covariance on a core that is given, whose rows are the model's and whose Gaussian factor may be
/// more than its prior.
void run_kl_on(const std::shared_ptr<GaussianCore>& core, const Kl& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Kl> {
  static constexpr const char* name = "kl";
  static constexpr const char* evidence = "lower-bound";
  static constexpr const char* sites = "unbounded support";
  static constexpr const char* summary =
      "Gaussian closest to the posterior in KL(q, p): the best lower bound on the evidence in its covariance family";
  static void check(const Model& /*model*/) {}  // What it refuses, it finds as its first step.
  static void run(const Kl& options, const Run& run, Posterior::State& state) { run_kl(options, run, state); }
};

}  // namespace gaussmith
