#pragma once
// Which seeds property tests try: few in the suite, more in a long run (scripts/long_checks.sh).

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

namespace gaussmith::testing {

/// Of `all` repetitions as many as fit: instrumented code is ten times slower.
constexpr int repetitions(int all) {
#ifdef GAUSSMITH_INSTRUMENTED
  return (all + 9) / 10;
#else
  return all;
#endif
}

/// Groups spread over cores.
inline constexpr int seed_groups = 4;

/// The seeds of a group: GAUSSMITH_SEEDS of them from GAUSSMITH_FIRST_SEED on, 28 from 0 by default.
inline std::vector<std::uint64_t> seeds_of_group(int group) {
  const auto read = [](const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
  };
  constexpr std::uint64_t few = std::max(8, repetitions(28));
  const std::uint64_t first = read("GAUSSMITH_FIRST_SEED", 0);
  const std::uint64_t count = read("GAUSSMITH_SEEDS", few);
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    if (static_cast<int>(seed % seed_groups) == group) seeds.push_back(seed);
  return seeds;
}

}  // namespace gaussmith::testing
