#pragma once
// Where a site is too weak for the formulas that divide by its precision.

namespace gaussmith {

/// Below this r / sqrt(tau) could overflow; such rows take the route that does not divide.
inline constexpr double smallest_root = 1e-140;

/// Rows with tau K_nn below this take their variance from K_nn - |L^-1 T^1/2 k_n|^2: the cheap formula
/// (1 - (B^-1)_nn) / tau loses a factor 1 / (tau K_nn) in relative accuracy.
inline constexpr double weak_site = 1e-3;

}  // namespace gaussmith
