#pragma once

#include "gaussmith/learn.hpp"
#include "learn/free_parameters.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// Warnings that name the parameters which the data leave open: at or near a bound, or run away from their start
/// without a maximum that holds them; with what one can do. `free` and `places` go together.
[[nodiscard]] std::vector<std::string> advice(const LearnReport& report, const std::vector<FreeParameter>& free,
                                              const Vector& places);

}  // namespace gaussmith
