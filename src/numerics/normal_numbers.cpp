#include "numerics/normal_numbers.hpp"

#include "numerics/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gaussmith {

namespace {

constexpr std::size_t chunk = 64;  // Pairs.

/// cos(2 pi t) and sin(2 pi t), t in (0, 1): the angle's nearest quarter turn is taken off, the rest is at most pi/4
/// and goes through the Taylor series, whose first term left out is below 1e-18.
GAUSSMITH_INLINE void turn(double t, double& cosine, double& sine) {
  constexpr double c[] = {1.0,           -1.0 / 2.0,       1.0 / 24.0,        -1.0 / 720.0,
                          1.0 / 40320.0, -1.0 / 3628800.0, 1.0 / 479001600.0, -1.0 / 87178291200.0};
  constexpr double s[] = {1.0,
                          -1.0 / 6.0,
                          1.0 / 120.0,
                          -1.0 / 5040.0,
                          1.0 / 362880.0,
                          -1.0 / 39916800.0,
                          1.0 / 6227020800.0,
                          -1.0 / 1307674368000.0};
  const double quarters = 4.0 * t;
  const double nearest = (quarters + elementary::exp_shift) - elementary::exp_shift;
  const double x = (quarters - nearest) * 1.5707963267948966192;
  const double z = x * x;
  const double cos_rest = elementary::polynomial(c, z);
  const double sin_rest = x * elementary::polynomial(s, z);
  const bool swapped = nearest == 1.0 || nearest == 3.0;
  const double a = swapped ? sin_rest : cos_rest;
  const double b = swapped ? cos_rest : sin_rest;
  cosine = nearest == 1.0 || nearest == 2.0 ? -a : a;
  sine = nearest == 2.0 || nearest == 3.0 ? -b : b;
}

GAUSSMITH_VECTORISED void transform_chunk(const double* __restrict u, const double* __restrict t,
                                          double* __restrict first, double* __restrict second) {
  for (std::size_t i = 0; i < chunk; ++i) {
    const double radius = std::sqrt(-2.0 * elementary::log(u[i]));
    double cosine = 0.0;
    double sine = 0.0;
    turn(t[i], cosine, sine);
    first[i] = radius * cosine;
    second[i] = radius * sine;
  }
}

}  // namespace

void fill_normal(Random& random, Span out) {
  alignas(64) double u[chunk];
  alignas(64) double t[chunk];
  alignas(64) double first[chunk];
  alignas(64) double second[chunk];
  for (std::size_t begin = 0; begin < out.size(); begin += 2 * chunk) {
    const std::size_t count = std::min(2 * chunk, out.size() - begin);
    const std::size_t pairs = (count + 1) / 2;
    for (std::size_t i = 0; i < pairs; ++i) {
      u[i] = random.uniform();
      t[i] = random.uniform();
    }
    for (std::size_t i = pairs; i < chunk; ++i) u[i] = t[i] = 0.5;
    transform_chunk(u, t, first, second);
    for (std::size_t i = 0; i < count; ++i) out[begin + i] = i < pairs ? first[i] : second[i - pairs];
  }
}

}  // namespace gaussmith
