#pragma once
// The parts of a problem file that saved models have in common with it.

#include "gaussmith/model.hpp"
#include "io/json_reading.hpp"
#include "model/prior.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace gaussmith {

/// What "prior" says: the Gaussian of one function, and how several are related.
struct PriorFields {
  Prior prior;
  Latents latents = {};
  std::optional<InducingSelection> selection = {};  ///< Inducing sites to be chosen.
};
[[nodiscard]] PriorFields read_prior(const JsonNode& node);
/// Several functions must share the mean of all weights but for a constant each (InvalidModel).
[[nodiscard]] nlohmann::ordered_json prior_json(const Prior& prior, const Latents& latents = {});

/// {"type": "identity"}, dense or sparse; `dimension` is the number of columns it must have.
[[nodiscard]] Design read_design(const JsonNode& node, Index dimension);
[[nodiscard]] nlohmann::ordered_json design_json(const Design& design);

[[nodiscard]] nlohmann::ordered_json vector_json(const Vector& values);
[[nodiscard]] nlohmann::ordered_json matrix_json(const Matrix& matrix);

/// The catalogue's entry for a block's "type"; fails with the names accepted.
[[nodiscard]] const LikelihoodInfo& read_likelihood(const JsonNode& block);

}  // namespace gaussmith
