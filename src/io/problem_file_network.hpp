#pragma once
// Priors of type network and sparse-linear in problem files.

#include "gaussmith/network.hpp"
#include "io/json_reading.hpp"

namespace gaussmith {

/// Whether "prior" is one of the two.
[[nodiscard]] bool is_network_prior(const JsonNode& prior);

/// Inputs, their names and the prior.
void read_network_prior(const JsonNode& prior, NetworkModel& network);

}  // namespace gaussmith
