#pragma once

#include "gaussmith/scores.hpp"
#include "saved_prediction.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gaussmith::app {

/// The scores of an observed table.
[[nodiscard]] Scores scores_of(const SavedPrediction& result);

/// Adds the fields that `evaluate --json` gives for one model; `classes` names those of a model with several.
void put_scores(const Scores& scores, const std::vector<std::string>& classes, nlohmann::ordered_json& out);

}  // namespace gaussmith::app
