#pragma once
// Gaussian sites: the posterior in one step.

#include "engines/posterior_state.hpp"

namespace gaussmith {

/// Refuses sites that are not Gaussian (InvalidOption).
void check_exact(const Model& model);

/// tau = 1 / variance, nu = y / variance; the log joint at the mean and half a log-determinant are the evidence,
/// without the cancellation of completing squares.
void run_exact(const Run& run, Posterior::State& state);

}  // namespace gaussmith
