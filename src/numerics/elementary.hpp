#pragma once
// Branch-free scalar kernels that compilers turn into SIMD code when a plain loop calls them. Internal to batch.cpp,
// expectations.cpp, tilted_rules.cpp and the quadratures of src/network, the only places with SIMD.

#include "base/vectorised.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gaussmith::elementary {

inline constexpr double ln2_high = 0x1.62e42feep-1;  // 32 bits, so that k * ln2_high is exact for |k| <= 2^20.
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// sum c[i] x^i by Horner's rule; written as a recursion because a long inner loop keeps the outer one from
/// vectorising.
template <int First = 0, int N>
GAUSSMITH_INLINE double polynomial(const double (&c)[N], double x) {
  if constexpr (First == N - 1) {
    return c[First];
  } else {
    return c[First] + x * polynomial<First + 1>(c, x);
  }
}

/// q(r) of e^r = 1 + r + r^2 q(r), |r| <= log(2)/2.
inline constexpr double exp_series[] = {0.50000000000000010221,     0.16666666666666667453,   0.041666666666624127873,
                                        0.0083333333333300618325,   0.0013888888917213716901, 0.00019841269863053616878,
                                        0.000024801521295954375131, 2.7557268459997064772e-6, 2.7620088445409748161e-7,
                                        2.5100385495510319078e-8};
inline constexpr double exp_shift = 0x1.8p52;  // Adding it leaves the nearest integer in the low mantissa bits.

/// e^x = 2^k (1 + r + r^2 q(r)), |r| <= log(2)/2, for x < 709.7; flushes results below 2^-1022 to zero.
GAUSSMITH_INLINE double exp_bounded(double x) {
  const double shifted = x * 0x1.71547652b82fep0 + exp_shift;
  const double k = shifted - exp_shift;
  const double r = (x - k * ln2_high) - k * ln2_low;
  const double p = 1.0 + (r + r * r * polynomial(exp_series, r));
  const double scaled =
      std::bit_cast<double>(std::bit_cast<std::uint64_t>(p) + (std::bit_cast<std::uint64_t>(shifted) << 52));
  return x < -708.39641853226408 ? 0.0 : scaled;
}

/// e^x for any x.
GAUSSMITH_INLINE double exp(double x) {
  const double y = x > 0x1.62e42fefa39efp9 ? infinity : exp_bounded(x);
  return x != x ? x : y;
}

/// e^x - 1 = 2^k (r + r^2 q(r)) + (2^k - 1), the same reduction: absolute error 2^-52 max(1, e^x), relative where
/// |x| < 0.34.
GAUSSMITH_INLINE double expm1(double x) {
  const double inside = x < -40.0 ? -40.0 : x > 709.0 ? 709.0 : x;
  const double shifted = inside * 0x1.71547652b82fep0 + exp_shift;
  const double k = shifted - exp_shift;
  const double r = (inside - k * ln2_high) - k * ln2_low;
  const double scale = std::bit_cast<double>(0x3ff0000000000000 + (std::bit_cast<std::uint64_t>(shifted) << 52));
  const double y = scale * (r + r * r * polynomial(exp_series, r)) + (scale - 1.0);
  return x > 709.0 ? infinity : y;
}

/// log(1 + w), 0 <= w <= 1, as 2 atanh(s), s = w/(2 + w); s is passed in because callers share the division.
GAUSSMITH_INLINE double log1p_unit(double s) {
  constexpr double c[] = {0.66666666666666658552, 0.40000000000014596615, 0.28571428567105060808,
                          0.22222222717801790359, 0.18181789417326108941, 0.15385570592920026354,
                          0.13314135550773189606, 0.12001155183747766401, 0.088003176468578115322,
                          0.16164938177081136571};
  const double z = s * s;
  return 2.0 * s + s * (z * polynomial(c, z));
}

/// log(u) + correction for a positive normal u = 2^k (1 + f), 1 + f in [sqrt(1/2), sqrt(2)):
/// log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f/(2 + f), R = 2 atanh(s)/s - 2.
GAUSSMITH_INLINE double log_corrected(double u, double correction) {
  constexpr double c[] = {0.66666666666666697077, 0.39999999999898890505, 0.28571428626253840038,
                          0.22222211089379212966, 0.18182892432552904099, 0.15331611721619457171,
                          0.14617807157967703476};
  constexpr std::uint64_t root_half = 0x3fe6a09e667f3bcd;
  const std::uint64_t t = std::bit_cast<std::uint64_t>(u) + (0x3ff0000000000000 - root_half);
  // AVX2 converts no 64-bit integers: the exponent is put into the mantissa of 2^52 instead.
  const double k = std::bit_cast<double>((t >> 52) | 0x4330000000000000) - (0x1p52 + 1023.0);
  const double f = std::bit_cast<double>((t & 0x000fffffffffffff) + root_half) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s;
  const double half_square = 0.5 * f * f;
  const double rest = half_square - (s * (half_square + z * polynomial(c, z)) + (k * ln2_low + correction));
  return k * ln2_high - (rest - f);
}

/// log x; subnormals are scaled first.
GAUSSMITH_INLINE double log(double x) {
  const bool tiny = x < 0x1p-1022;
  const double y = log_corrected(tiny ? x * 0x1p54 : x, 0.0) - (tiny ? 54.0 * 0.69314718055994530942 : 0.0);
  const double with_zero = x == 0.0 ? -infinity : y;
  const double with_infinity = x == infinity ? x : with_zero;
  return x >= 0.0 ? with_infinity : std::numeric_limits<double>::quiet_NaN();
}

/// log(1 + x): the rounding error of u = 1 + x is put back to first order.
GAUSSMITH_INLINE double log1p(double x) {
  const double u = 1.0 + x;
  const double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  const double y = log_corrected(u, lost / u);
  const double with_pole = x == -1.0 ? -infinity : y;
  const double with_infinity = x == infinity ? x : with_pole;
  return x >= -1.0 ? with_infinity : std::numeric_limits<double>::quiet_NaN();
}

/// log(1 + e^x).
GAUSSMITH_INLINE double softplus(double x) {
  const double w = exp(-std::fabs(x));
  return (x > 0.0 ? x : 0.0) + log1p_unit(w / (2.0 + w));
}

/// 1/(1 + e^-x).
GAUSSMITH_INLINE double sigmoid(double x) {
  const double w = exp(-std::fabs(x));
  return (x > 0.0 ? 1.0 : w) / (1.0 + w);
}

/// Excess of the inverse Mills ratio over its asymptote: phi(y)/Phi(-y) - y, y >= 0; sqrt(2/pi) at 0, ~ 1/y at
/// infinity. The product with y + 3.5 is a polynomial in (y - 3.5)/(y + 3.5), relative error below 1e-15.
GAUSSMITH_INLINE double mills_excess(double y) {
  constexpr double c[] = {
      1.7597388540038981192,      -1.0299783886096475546,     0.21069624634473573611,     0.15371368344127304654,
      -0.10078958422801460468,    -0.022180098790743337409,   0.035587516294986370942,    0.0020298818360013156831,
      -0.011862644479894209978,   0.00027216734572071381438,  0.0038678084653715488848,   -0.00020437342949799247138,
      -0.0012316426374607325394,  0.000055525727110874509813, 0.00037629665843801391847,  -4.2916814295049775669e-6,
      -0.00010728934242646660031, -3.6753854313919489577e-6,  0.000027566863554909960501, 2.0924115675619228345e-6,
      -6.1158959271303623328e-6,  -5.9076447878940841094e-7,  1.1048085189734638478e-6,   9.261456572810750628e-8,
      -1.4613858731101650589e-7,  -6.1200250034186139005e-9,  1.0687821178008379735e-8};
  const double inverse = 1.0 / (y + 3.5);
  return polynomial(c, 1.0 - 7.0 * inverse) * inverse;
}

/// Phi(x), absolute accuracy 1e-16, relative accuracy 1e-13 in the left tail.
GAUSSMITH_INLINE double ndtr(double x) {
  const double y = std::fabs(x);
  const double tail = 0.39894228040143267794 * exp(-0.5 * y * y) / (y + mills_excess(y));
  return x > 0.0 ? 1.0 - tail : tail;
}
}  // namespace gaussmith::elementary
