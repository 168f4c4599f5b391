#pragma once
// Stationary kernels signal_sd^2 rho(r^2), r^2 = sum_j ((x_j - x'_j)/lengthscale_j)^2. A family writes rho and its
// derivative; distances, ARD length-scales and contractions are shared.

#include "kernels/family.hpp"

namespace gaussmith {

/// A correlation function of the squared scaled distance, with at most one shape parameter of its own (e.g. alpha).
/// All spans have one size, at most strip_rows; 0 <= r^2 <= farthest_square.
struct Profile {
  /// rho(r^2), with rho(0) = 1. `out` may be `squares`.
  void (*correlation)(double shape, ConstSpan squares, Span out);
  /// rho, d rho/d(r^2) (finite; 0 where it is infinite at r = 0) and, if not empty, d rho/d log(shape).
  void (*derivatives)(double shape, ConstSpan squares, Span out, Span slope, Span shape_slope);
  /// Whether d rho/d(r^2) is finite at r = 0, so that the kernel has derivatives in its inputs.
  bool smooth = true;
};

/// The arguments signal_sd and lengthscale of every stationary kernel, and `shape` if it has one.
[[nodiscard]] std::vector<KernelArgumentInfo> stationary_arguments();
[[nodiscard]] std::vector<KernelArgumentInfo> stationary_arguments(const KernelArgumentInfo& shape);

/// A stationary kernel of a family whose arguments are stationary_arguments(). `profile` outlives it.
[[nodiscard]] KernelHandle make_stationary(const Family& family, const Profile& profile, ArgumentValues values);

}  // namespace gaussmith
