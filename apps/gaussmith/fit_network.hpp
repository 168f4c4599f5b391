#pragma once
// `fit` of networks and sparse linear models: their own model, one method, no learning.

#include "command.hpp"
#include "fit_options.hpp"
#include "gaussmith/files.hpp"

#include <optional>

namespace gaussmith::app {

/// Whether the arguments, or the problem, ask for a network or a sparse linear model.
[[nodiscard]] bool is_network(const FitArguments& arguments, const std::optional<Problem>& problem);

[[nodiscard]] Outcome fit_network(const FitArguments& arguments, std::optional<Problem> problem,
                                  const CommonOptions& common);

}  // namespace gaussmith::app
