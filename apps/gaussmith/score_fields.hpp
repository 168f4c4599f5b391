#pragma once

#include "gaussmith/scores.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith::app {

/// Adds the fields that `evaluate --json` gives for one model.
void put_scores(const Scores& scores, nlohmann::ordered_json& out);

}  // namespace gaussmith::app
