#pragma once
// The kernels that every general test runs over. A new kernel of the catalogue needs a line in cases.cpp.

#include "gaussmith/kernels.hpp"

#include <string>
#include <vector>

namespace gaussmith::test {

struct KernelCase {
  std::string label;
  KernelHandle kernel;  ///< For inputs of `input_dimension` columns.
};

inline constexpr Index input_dimension = 6;

std::vector<KernelCase> kernel_cases();

/// Standard normal inputs times `scale`.
Matrix random_inputs(Index rows, Index columns, unsigned seed, double scale = 1.0);

/// Symmetric standard normal weights.
Matrix random_weights(Index size, unsigned seed);

}  // namespace gaussmith::test
