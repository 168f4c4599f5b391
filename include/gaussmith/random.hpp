#pragma once
// A generator of our own: std:: distributions differ between standard libraries, and a seed must fix the result.

#include <array>
#include <cstdint>

namespace gaussmith {

/// xoshiro256++ seeded through splitmix64: 256 bits of state, period 2^256 - 1.
class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t bits();        ///< 64 uniform bits.
  double uniform();            ///< Uniform on (0, 1), both ends excluded.
  double normal();             ///< Standard normal, by inversion of one uniform draw.
  double exponential();        ///< Mean one.
  double gamma(double shape);  ///< Scale one; any shape > 0 (Marsaglia-Tsang).
  double poisson(double mean);
  double binomial(double trials, double probability);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace gaussmith
