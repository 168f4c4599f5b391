#pragma once
// The field `network` of a result.

#include "gaussmith/network.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// Units kept, noise, log scales, relevance of the inputs and how every start ended.
[[nodiscard]] nlohmann::ordered_json network_summary_json(const NetworkPosterior& posterior);

}  // namespace gaussmith
