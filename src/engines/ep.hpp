#pragma once
// Expectation propagation (docs/engines/ep.md).

#include "engines/posterior_state.hpp"

#include <map>
#include <string>

namespace gaussmith {

void run_ep(const Ep& options, const Run& run, Posterior::State& state);

[[nodiscard]] std::map<std::string, double, std::less<>> ep_gradient(const Ep& options, const Posterior::State& state);

}  // namespace gaussmith
