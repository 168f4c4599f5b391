#pragma once
// Kernels as the command line writes them: se-ard, matern32+linear, periodic*(se+white).

#include "gaussmith/kernels.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gaussmith::app {

/// A kernel before its parameters are complete.
struct KernelExpression {
  std::string name;           ///< Of the catalogue; "sum" or "product" with terms.
  bool ard = false;           ///< One value per input column for every argument that accepts it.
  KernelArguments arguments;  ///< What was set explicitly.
  std::vector<KernelExpression> terms;
};

/// Parses sums of products of names and brackets; products bind closer. Throws InvalidOption with the names accepted.
[[nodiscard]] KernelExpression parse_kernel(std::string_view text);

/// Sets a parameter by its name below "kernel.": lengthscale, lengthscale[1], terms[0].signal_sd. Several values, or an
/// index, make the argument ARD. False when there is no such parameter. Throws InvalidOption for a wrong number.
bool set_argument(KernelExpression& kernel, std::string_view name, const std::vector<double>& values, Index columns);

/// Starting values for learning where nothing was set: the response's scale for signal_sd, the spread of the inputs
/// times sqrt(columns) for the length-scales of stationary kernels.
void suggest_arguments(KernelExpression& kernel, const Matrix& inputs, double response_scale);

[[nodiscard]] KernelHandle build_kernel(const KernelExpression& kernel, Index columns);

/// Arguments that neither the user nor a suggestion set: "signal_sd = 1, lengthscale = 1".
[[nodiscard]] std::string default_arguments(const KernelExpression& kernel);

}  // namespace gaussmith::app
