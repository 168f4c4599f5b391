#pragma once
// The Laplace approximation: a Gaussian at a mode of the posterior with the curvature there (docs/engines/laplace.md).

#include "engines/posterior_state.hpp"

namespace gaussmith {

/// Refuses sites without derivatives (InvalidOption).
void check_laplace(const Model& model);

/// Fills the state from a mode found by Newton's method; for sites that are not log-concave steps with positive weights
/// lead to the region where K^-1 + T is positive definite.
void run_laplace(const Laplace& options, const Run& run, Posterior::State& state);

}  // namespace gaussmith
