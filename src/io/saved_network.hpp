#pragma once
// The field `network` of a saved model.

#include "gaussmith/network.hpp"
#include "io/json_reading.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// Throws InvalidModel where a number is not finite.
[[nodiscard]] nlohmann::ordered_json network_json(const FittedNetwork& network);

/// Sizes that fit together, scales and variances above 0.
[[nodiscard]] FittedNetwork read_network(const JsonNode& node);

}  // namespace gaussmith
