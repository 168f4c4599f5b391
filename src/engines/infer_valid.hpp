#pragma once

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// Throws InvalidOption where a method does not take a model, or an option of it is outside its range.
void check_method(const Model& model, const Method& method);

/// infer() for a model that Model::validate() has seen, or that differs from such a one by with_parameters().
[[nodiscard]] Posterior infer_valid(const Model& model, const Method& method, const Run& run);

}  // namespace gaussmith
