#pragma once
// The table of engines: each method has a check before any work, a run, and a gradient of its evidence.

#include "engines/curvature_gradient.hpp"
#include "engines/ep.hpp"
#include "engines/exact.hpp"
#include "engines/kl.hpp"
#include "engines/laplace.hpp"

namespace gaussmith {

/// Throws InvalidOption for an option outside its range.
void check_options(const Method& method);

inline void check_sites(const Exact&, const Model& model) { check_exact(model); }
inline void check_sites(const Laplace&, const Model& model) { check_laplace(model); }
inline void check_sites(const Kl&, const Model&) {}  // What it refuses, it finds as its first step.
inline void check_sites(const Ep&, const Model&) {}  // Every site has tilted moments.

inline void run_engine(const Exact&, const Run& run, Posterior::State& state) {
  build_core(run, state);
  run_exact(run, state);
}
inline void run_engine(const Laplace& options, const Run& run, Posterior::State& state) {
  build_core(run, state);
  run_laplace(options, run, state);
}
inline void run_engine(const Kl& options, const Run& run, Posterior::State& state) { run_kl(options, run, state); }
inline void run_engine(const Ep& options, const Run& run, Posterior::State& state) {
  build_core(run, state);
  run_ep(options, run, state);
}

inline auto evidence_gradient(const Exact&, const Posterior::State& state) { return curvature_gradient(state); }
inline auto evidence_gradient(const Laplace&, const Posterior::State& state) { return curvature_gradient(state); }
inline auto evidence_gradient(const Kl&, const Posterior::State& state) { return kl_gradient(state); }
inline auto evidence_gradient(const Ep& options, const Posterior::State& state) { return ep_gradient(options, state); }

}  // namespace gaussmith
