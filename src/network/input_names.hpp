#pragma once

#include "gaussmith/network.hpp"

#include <string>

namespace gaussmith {

/// What messages and summaries call an input.
[[nodiscard]] std::string input_name(const NetworkModel& model, Index input);

}  // namespace gaussmith
