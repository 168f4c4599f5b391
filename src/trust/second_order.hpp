#pragma once
// The next order of an expansion around a method's Gaussian: what its evidence, means and variances are probably off
// by (docs/trust.md). Good where small and where the sites are log-concave; blind to what the Gaussian does not see.

#include "gaussmith/trust.hpp"
#include "trust/hermite_coefficients.hpp"
#include "trust/posterior_root.hpp"

#include <optional>

namespace gaussmith {

/// Why there is no second order for this posterior, in words; empty where there is.
[[nodiscard]] std::string why_no_second_order(const Posterior::State& state);

/// O(N^2 R) in products for V, R its rank, and O(N^2) beside; V is had in blocks of columns.
[[nodiscard]] SecondOrder second_order(const Posterior::State& state, const PosteriorRoot& root);

/// delta m = 1/2 V (f3 v) of laplace in posterior standard deviations: what a method with third derivatives knows about
/// its means, one product with V. Only for laplace.
[[nodiscard]] Vector laplace_mean_shift(const Posterior::State& state, const PosteriorRoot& root);

/// Sums over pairs of rows that ep and kl share. With `itself` the share with which a row stands beside itself (0: not
/// at all, 1: like any other):
///   evidence 1/2 sum_mn sum_l a_lm a_ln rho_mn^l / l!,
/// and the shifts of means (in standard deviations) and variances (relative) of rows and weights.
[[nodiscard]] SecondOrder pair_sums(const PosteriorRoot& root, const Matrix& coefficients, const Vector& itself);

/// The terms of laplace from the third and fourth derivatives of log t at the mode.
[[nodiscard]] SecondOrder loop_sums(const PosteriorRoot& root, const Vector& third, const Vector& fourth);

}  // namespace gaussmith
