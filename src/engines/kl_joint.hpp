#pragma once
// kl for rows of several latents whose expected log t has a lower bound in closed form, as softmax sites have
// (docs/engines/classes.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// kl.covariance of independent functions whose site precisions are stars.
inline constexpr const char* structured_covariance = "structured";

/// Fills the state from the optimum of the bound.
void run_kl_joint(const Kl& options, const Run& run, Posterior::State& state);

}  // namespace gaussmith
