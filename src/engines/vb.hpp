#pragma once
// Local variational bounds: every super-Gaussian site is bounded from below by the best Gaussian tangent
// (docs/engines/vb.md).

#include "engines/engine.hpp"
#include "gaussian/core.hpp"

namespace gaussmith {

/// Refuses sites that are not super-Gaussian (InvalidOption).
void check_vb(const Model& model);

/// Fills the state from the optimum of the bound.
void run_vb(const Vb& options, const Run& run, Posterior::State& state);

/// The same with exact variances on a core that is given, whose rows are the model's and whose Gaussian factor may be
/// more than its prior.
void run_vb_on(const std::shared_ptr<GaussianCore>& core, const Vb& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Vb> {
  static constexpr const char* name = "vb";
  static constexpr const char* evidence = "lower-bound";
  static constexpr const char* sites = "super-Gaussian";
  static constexpr const char* summary =
      "Gaussian tangents below every site: a lower bound in closed form, convex for log-concave sites";
  static void check(const Model& model) { check_vb(model); }
  static void run(const Vb& options, const Run& run, Posterior::State& state) { run_vb(options, run, state); }
};

}  // namespace gaussmith
