#pragma once
// The field `inducing` of a process: values that stand for all others, given or to be chosen.

#include "io/problem_file_parts.hpp"

namespace gaussmith {

/// Puts what the field says into a process: {"inputs"} or {"sites"}, or into the selection: {"count", ...}.
void read_inducing(const JsonNode& node, PriorFields& fields);
[[nodiscard]] nlohmann::ordered_json inducing_json(const Inducing& inducing);

}  // namespace gaussmith
