#pragma once
// kl for rows of several latents seen through inducing variables: q(u) of a few values stands for all rows
// (docs/inducing.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Fills the state from the optimum of the bound.
void run_kl_inducing(const Kl& options, const Run& run, Posterior::State& state);

}  // namespace gaussmith
