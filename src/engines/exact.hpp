#pragma once
// Gaussian sites: the posterior in one step.

#include "engines/engine.hpp"

namespace gaussmith {

/// Refuses sites that are not Gaussian (InvalidOption).
void check_exact(const Model& model);

/// tau = 1 / variance, nu = y / variance; the log joint at the mean and half a log-determinant are the evidence,
/// without the cancellation of completing squares.
void run_exact(const Run& run, Posterior::State& state);

template <>
struct Engine<Exact> {
  static constexpr const char* name = "exact";
  static constexpr const char* evidence = "exact";
  static constexpr const char* sites = "gaussian";
  static constexpr const char* summary = "Closed form for Gaussian sites";
  static void check(const Model& model) { check_exact(model); }
  static void run(const Exact& /*options*/, const Run& run, Posterior::State& state) { run_exact(run, state); }
};

}  // namespace gaussmith
