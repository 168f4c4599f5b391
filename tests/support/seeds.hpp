#pragma once
// Which seeds property tests try: few in the suite, more in a long run (scripts/long_checks.sh).

#include <cstdint>
#include <cstdlib>
#include <vector>

namespace gaussmith::testing {

/// Groups spread over cores.
inline constexpr int seed_groups = 4;

/// The seeds of a group: GAUSSMITH_SEEDS of them from GAUSSMITH_FIRST_SEED on, 28 from 0 by default.
inline std::vector<std::uint64_t> seeds_of_group(int group) {
  const auto read = [](const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
#ifdef GAUSSMITH_INSTRUMENTED
  constexpr std::uint64_t few = 8;
#else
  constexpr std::uint64_t few = 28;
#endif
  const std::uint64_t first = read("GAUSSMITH_FIRST_SEED", 0);
  const std::uint64_t count = read("GAUSSMITH_SEEDS", few);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    if (static_cast<int>(seed % seed_groups) == group) seeds.push_back(seed);
  return seeds;
}

}  // namespace gaussmith::testing
