#pragma once
// Kernels as JSON: {"type": "se", "signal_sd": 1, "lengthscale": [0.5, 2]}, {"type": "sum", "terms": [...]}.

#include "gaussmith/kernels.hpp"
#include "io/json_reading.hpp"

#include <nlohmann/json.hpp>

namespace gaussmith {

/// Reads a kernel for inputs of `columns` columns.
[[nodiscard]] KernelHandle read_kernel(const JsonNode& node, Index columns);

/// The inverse of read_kernel: the same kernel, bit for bit.
[[nodiscard]] nlohmann::ordered_json kernel_json(const Kernel& kernel);

}  // namespace gaussmith
