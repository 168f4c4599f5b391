#pragma once
// Points that fill a cube evenly, randomised so that their spread shows the error.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace gaussmith {

/// Sobol' points in up to most_dimensions dimensions, scrambled by a random linear matrix and a random digital shift in
/// each: every point is uniform, and 2^k of them from a multiple of 2^k on are as even as Sobol's. Dimensions beyond
/// the last are filled with plain random numbers.
class SobolSequence {
 public:
  static constexpr Index most_dimensions = 64;

  SobolSequence(Index dimensions, Random& random);

  /// Coordinates of point `index` < 2^32 in (0, 1), a number for each dimension.
  void point(std::uint32_t index, Span out) const;

  /// A power of two of points from a multiple of it on, a row each, in Gray code's order: two neighbours differ by one
  /// exclusive or.
  void block(std::uint32_t first, Eigen::Ref<Matrix> out) const;

 private:
  static constexpr int bits = 32;
  std::vector<std::array<std::uint32_t, bits>> directions_;
  std::vector<std::uint32_t> shift_;
  std::uint64_t beyond_;
  Index dimensions_;
};

}  // namespace gaussmith
