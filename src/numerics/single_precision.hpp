#pragma once
// Elementary functions in single precision whose loops vectorise: for averages over points that are good to 1e-5 at
// best. Relative errors are a few times 1e-7 where nothing else is said.

#include "base/vectorised.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace gaussmith::single {

/// e^x for x <= 80; below -80 it is e^-80.
GAUSSMITH_INLINE float exp(float x) {
  constexpr float least = -80.0F, per_log2 = 1.44269504F, log2_high = 0.693359375F, log2_low = -2.12194440e-4F;
  constexpr float rounder = 12582912.0F;  // 1.5 2^23: adding it rounds to integers.
  x = x < least ? least : x;
  const float shifted = x * per_log2 + rounder;
  const float n = shifted - rounder;
  const float r = (x - n * log2_high) - n * log2_low;
  const float series =
      1.0F + r * (1.0F + r * (0.5F + r * (0.166666667F + r * (0.0416666667F + r * (8.33333e-3F + r * 1.38889e-3F)))));
  const std::int32_t exponent = std::bit_cast<std::int32_t>(shifted) - std::bit_cast<std::int32_t>(rounder);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(series) + exponent * (1 << 23));
}

/// log x for normal x > 0; absolute error 1e-7 near 1.
GAUSSMITH_INLINE float log(float x) {
  constexpr std::int32_t root_half = 0x3f3504f3;  // sqrt(1/2).
  constexpr std::int32_t mantissa = 0x007fffff;
  const std::int32_t bits = std::bit_cast<std::int32_t>(x) - root_half;
  const auto exponent = static_cast<float>(bits >> 23);
  const float m = std::bit_cast<float>((bits & mantissa) + root_half);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float q = s * s;
  return exponent * 0.693147181F +
         2.0F * s * (1.0F + q * (0.333333333F + q * (0.2F + q * (0.142857F + q * 0.111111F))));
}

/// The normal distribution function: erfc by Chebyshev's polynomial of W. H. Press et al., Numerical Recipes, section
/// 6.2, good to 1.2e-7 relative, beside what the exponential loses.
GAUSSMITH_INLINE float ndtr(float x) {
  const float z = 0.707106781F * std::fabs(x);
  const float t = 1.0F / (1.0F + 0.5F * z);
  const float inner =
      -z * z - 1.26551223F +
      t * (1.00002368F +
           t * (0.37409196F +
                t * (0.09678418F +
                     t * (-0.18628806F +
                          t * (0.27886807F +
                               t * (-1.13520398F + t * (1.48851587F + t * (-0.82215223F + t * 0.17087277F))))))));
  const float tail = 0.5F * t * exp(inner);
  return x < 0.0F ? tail : 1.0F - tail;
}

/// The normal quantile of p in [1e-8, 1 - 1e-7], good to 2e-6: the polynomials of M. Giles, Approximating the erfinv
/// function, GPU Computing Gems 2 (2011).
GAUSSMITH_INLINE float normal_quantile(float p) {
  const float w = -log(4.0F * p * (1.0F - p));
  const float a = w - 2.5F;
  const float centre =
      1.50140941F +
      a * (0.246640727F + a * (-0.00417768164F +
                               a * (-0.00125372503F +
                                    a * (0.00021858087F +
                                         a * (-4.39150654e-06F +
                                              a * (-3.5233877e-06F + a * (3.43273939e-07F + a * 2.81022636e-08F)))))));
  const float b = std::sqrt(w > 0.0F ? w : 0.0F) - 3.0F;
  const float tail =
      2.83297682F +
      b * (1.00167406F + b * (0.00943887047F +
                              b * (-0.0076224613F +
                                   b * (0.00573950773F +
                                        b * (-0.00367342844F +
                                             b * (0.00134934322F + b * (0.000100950558F + b * -0.000200214257F)))))));
  return 1.41421356F * (w < 5.0F ? centre : tail) * (2.0F * p - 1.0F);
}

}  // namespace gaussmith::single
