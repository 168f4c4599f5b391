#pragma once
// A part of a model's rows, for a first look at the evidence: parameters that suit a part of many rows nearly suit all.

#include "gaussmith/model.hpp"

#include <optional>

namespace gaussmith {

/// The process, alone or beside coefficients and effects, over `count` of its rows, chosen by a seed of its own.
/// Nothing for other priors and designs, and for sites that are not of the catalogue.
[[nodiscard]] std::optional<Model> row_subset(const Model& model, Index count);

}  // namespace gaussmith
