#pragma once
// Choices among numbered things, from the library's own generator.

#include "gaussmith/random.hpp"
#include "gaussmith/types.hpp"

#include <cstdint>
#include <vector>

namespace gaussmith {

/// -1 or 1.
[[nodiscard]] inline double random_sign(Random& random) { return random.bits() >> 63 == 0 ? -1.0 : 1.0; }
/// Uniform on 0, ..., count - 1; count > 0.
[[nodiscard]] Index random_below(Index count, Random& random);
/// 0, ..., count - 1 in an order that chance takes.
[[nodiscard]] std::vector<Index> random_order(Index count, std::uint64_t seed);
/// At most `most` of 0, ..., count - 1, ascending; all of them where there are no more.
[[nodiscard]] std::vector<Index> random_subset(Index count, Index most, std::uint64_t seed);

}  // namespace gaussmith
