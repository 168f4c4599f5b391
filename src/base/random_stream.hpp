#pragma once

#include "gaussmith/random.hpp"

#include <cstdint>

namespace gaussmith {

/// The generator of piece `number` of work with a seed: pieces may be done in any order and on any thread.
[[nodiscard]] inline Random random_stream(std::uint64_t seed, std::uint64_t number) {
  // Two rounds of a 64-bit mixing function between the two numbers, so that neither neighbours nor sums coincide.
  const auto mixed = [](std::uint64_t z) {
    z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdu;
    z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53u;
    return z ^ (z >> 33);
  };
  return Random(mixed(mixed(seed + 0x632be59bd9b4e019u) ^ (number + 1)));
}

}  // namespace gaussmith
