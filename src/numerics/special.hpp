#pragma once
// Scalar special functions that stay accurate in both tails. Every function is pure and thread-safe; relative accuracy
// is about 1e-14 unless said otherwise, and no finite argument gives NaN.

namespace gaussmith {

/// log(sqrt(2 pi)) = 0.918938533204672741780...
inline constexpr double log_sqrt_two_pi = 0.91893853320467274178;

/// exp(x^2) erfc(x): 1 at 0, ~ 1/(x sqrt(pi)) for x -> inf; overflows to +inf for x < -26.64.
[[nodiscard]] double erfcx(double x);

/// Standard normal distribution function Phi(x) = erfc(-x/sqrt(2))/2. Underflows to 0 below about -38.5.
[[nodiscard]] double ndtr(double x);

/// log Phi(x) for any finite x: log_ndtr(-1e3) = -500007.82669481..., log_ndtr(40) = -3.6559e-350 -> -0.
/// Overflows to -inf only where x^2/2 does (x < -1.8e154).
[[nodiscard]] double log_ndtr(double x);

/// Inverse Mills ratio phi(x)/Phi(x), the derivative of log_ndtr: sqrt(2/pi) at 0, ~ -x for x -> -inf.
[[nodiscard]] double mills(double x);

/// The first three derivatives of log Phi at x: first = r = phi/Phi, second = -r (x + r) in (-1, 0),
/// third = r (x^2 - 1 + 3 x r + 2 r^2) > 0; free of cancellation in the left tail.
struct LogNdtrDerivatives {
  double value, first, second, third;
};
[[nodiscard]] LogNdtrDerivatives log_ndtr_derivatives(double x);

/// log(1 + e^x), without overflow: ~ e^x for x -> -inf, ~ x for x -> inf.
[[nodiscard]] double softplus(double x);

/// log(1/(1 + e^-x)) = -softplus(-x).
[[nodiscard]] double log_sigmoid(double x);

/// 1/(1 + e^-x), relatively accurate for x -> -inf as well.
[[nodiscard]] double sigmoid(double x);

/// log N(x | mean, variance), variance > 0.
[[nodiscard]] double normal_log_density(double x, double mean, double variance);

/// Phi^-1(p), p in (0, 1); p = 0 and p = 1 give -inf and +inf.
[[nodiscard]] double normal_quantile(double p);

/// log Gamma(x), x > 0. Unlike std::lgamma it writes no global sign. Relatively accurate near the zeros 1 and 2.
[[nodiscard]] double log_gamma(double x);

/// d/dx log Gamma(x), x > 0: digamma(1) = -0.57721566490153286...
[[nodiscard]] double digamma(double x);

/// d^2/dx^2 log Gamma(x), x > 0: trigamma(1) = pi^2/6.
[[nodiscard]] double trigamma(double x);

/// log(n choose k) for real 0 <= k <= n, accurate to 1e-14 (1 + |value|) for n up to 1e15.
[[nodiscard]] double log_binomial_coefficient(double n, double k);

}  // namespace gaussmith
