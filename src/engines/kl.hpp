#pragma once
// Gaussian KL: the q that maximises E_q[log p(y, w)] + entropy, a lower bound on the evidence (docs/engines/kl.md).

#include "engines/posterior_state.hpp"

#include <map>
#include <string>

namespace gaussmith {

/// Refuses what the chosen covariance family cannot do (InvalidOption).
void check_kl(const Kl& options, const Model& model);

/// Fills the state from the optimum of the bound.
void run_kl(const Kl& options, const Run& run, Posterior::State& state);

/// Explicit terms only, because the bound is stationary in q: sites by E_q[d log t].
[[nodiscard]] std::map<std::string, double, std::less<>> kl_gradient(const Posterior::State& state);

}  // namespace gaussmith
