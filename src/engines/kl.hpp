#pragma once
// Gaussian KL: the q that maximises E_q[log p(y, w)] + entropy, a lower bound on the evidence (docs/engines/kl.md).

#include "engines/posterior_state.hpp"

#include <map>
#include <string>

namespace gaussmith {

/// Fills the state from the optimum of the bound. Refuses a covariance that does not suit the model or does not fit
/// into memory before any work (InvalidOption).
void run_kl(const Kl& options, const Run& run, Posterior::State& state);

/// Explicit terms only, because the bound is stationary in q: sites by E_q[d log t].
[[nodiscard]] std::map<std::string, double, std::less<>> kl_gradient(const Posterior::State& state);

}  // namespace gaussmith
