#pragma once
// What a result says about how well the model predicts its own rows.

#include "gaussmith/infer.hpp"
#include "gaussmith/scores.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// Non-finite numbers become null when written.
[[nodiscard]] nlohmann::ordered_json number_array(const Vector& values);

[[nodiscard]] nlohmann::ordered_json training_json(const Scores& scores);

/// Every row, and the total with its standard error.
[[nodiscard]] nlohmann::ordered_json leave_one_out_json(const LeaveOneOut& left_out, Index latents);

/// Adds `events` and `censored`, the numbers of rows, where a block of sites knows censoring.
void put_event_counts(const std::vector<Sites>& sites, nlohmann::ordered_json& out);

}  // namespace gaussmith
