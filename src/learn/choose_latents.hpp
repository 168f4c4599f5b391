#pragma once
// Which single latents of rows are inducing variables, by what the bound gains (inducing_scores.hpp).

#include "gaussmith/inducing.hpp"

namespace gaussmith {

/// Of a process of several latents, multinomial-logit; the count is valid.
[[nodiscard]] ChosenInducing choose_single_latents(const Model& model, const InducingSelection& selection,
                                                   const Run& run);

}  // namespace gaussmith
