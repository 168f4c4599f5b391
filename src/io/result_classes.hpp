#pragma once
// What results say of models with several latents a row: arrays with a second index, and class probabilities.

#include "gaussmith/class_bounds.hpp"
#include "gaussmith/files.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gaussmith {

/// Numbers of rows with `latents` each, row by row: a plain array for one latent, else nested ones.
[[nodiscard]] nlohmann::ordered_json row_arrays(const Vector& values, Index latents);

/// C x C numbers a row as nested arrays.
[[nodiscard]] nlohmann::ordered_json row_matrices(const Vector& values, Index latents);

/// The names of classes, or 0 to C - 1 for those that have none.
[[nodiscard]] nlohmann::ordered_json class_names(const std::vector<std::string>& names, Index classes);

/// The class probabilities of predictions, and what the method kl adds; nothing of their latents.
void put_classes(const Prediction& prediction, const ResultContent& content, bool kl, nlohmann::ordered_json& out);

/// `bounds`: what lies below the evidence beside what the method kl gives; null where there is no such bound.
[[nodiscard]] nlohmann::ordered_json bounds_json(const ClassBounds& bounds);

/// `joint`: the log predictive density of all responses together, from below, as far as it is known; `evidence_gap` is
/// the method's log evidence less the true one.
[[nodiscard]] nlohmann::ordered_json joint_json(const nlohmann::ordered_json& prediction, const Vector& responses,
                                                const std::optional<double>& evidence_gap);

}  // namespace gaussmith
