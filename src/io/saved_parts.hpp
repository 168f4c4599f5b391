#pragma once
// The parts that every kind of saved model is made of: likelihoods without their data, triangles.

#include "gaussmith/sites.hpp"
#include "io/json_reading.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gaussmith {

/// Throws InvalidModel where a number is not finite: such a model cannot be saved.
void require_finite(const Vector& values, const char* what);

/// Throws InvalidModel for sites that the catalogue could not make again: those made from functions, even under a known
/// name.
void require_catalogued(const SiteBlock& block);

/// A likelihood as one row, with the arguments that predictions must bring.
struct SavedBlock {
  Sites likelihood;
  std::vector<std::string> row_arguments;
};
[[nodiscard]] nlohmann::ordered_json block_json(const SiteBlock& block, const std::vector<std::string>& row_arguments);
[[nodiscard]] SavedBlock read_saved_block(const JsonNode& node);

/// Rows of the lower triangle, each one entry longer than the last.
[[nodiscard]] nlohmann::ordered_json lower_json(const Matrix& factor);
/// The same with a positive diagonal; zero above it.
[[nodiscard]] Matrix read_lower(const JsonNode& node);

}  // namespace gaussmith
