#pragma once
// The Laplace approximation: a Gaussian at a mode of the posterior with the curvature there (docs/engines/laplace.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses sites without derivatives (InvalidOption).
void check_laplace(const Model& model);

/// Fills the state from a mode found by Newton's method; for sites that are not log-concave steps with positive weights
/// lead to the region where K^-1 + T is positive definite.
void run_laplace(const Laplace& options, const Run& run, Posterior::State& state);

template <>
struct Engine<Laplace> {
  static constexpr const char* name = "laplace";
  static constexpr const char* evidence = "approximation";
  static constexpr const char* sites = "smooth";
  static constexpr const char* summary =
      "Gaussian at a posterior mode with the curvature there; the cheapest, and a mode for every smooth site";
  static void check(const Model& model) { check_laplace(model); }
  static void run(const Laplace& options, const Run& run, Posterior::State& state) { run_laplace(options, run, state); }
};

}  // namespace gaussmith
