#pragma once
// Checks and names of kernel arguments, the same for every family.

#include "kernels/family.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace gaussmith {

/// Every parameter lies in [1e-100, 1e100], so that squares, inverses and scaled distances stay finite.
inline constexpr double smallest_parameter = 1e-100;
inline constexpr double largest_parameter = 1e100;

/// "first, second, third".
[[nodiscard]] std::string comma_separated(const std::vector<std::string_view>& words);

/// Throws InvalidModel "kernel.<name> must be positive and finite, found <value>" unless the value is a valid
/// parameter.
void check_parameter(std::string_view name, double value);

/// Throws InvalidModel unless there is one value for each parameter and all are valid.
void check_parameters(std::string_view kernel, const std::vector<KernelParameter>& parameters, ConstSpan values);

/// The values of all arguments of a family, defaults filled in. Throws InvalidModel for an unknown argument, a wrong
/// number of values or a value that is not a valid parameter.
[[nodiscard]] ArgumentValues resolve_arguments(const KernelInfo& info, const KernelArguments& arguments);

}  // namespace gaussmith
