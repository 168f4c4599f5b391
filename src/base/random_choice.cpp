#include "base/random_choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gaussmith {

namespace {

std::vector<Index> all_below(Index count) {
  std::vector<Index> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), Index{0});
  return out;
}

}  // namespace

Index random_below(Index count, Random& random) {
  // The product may round up to count.
  return std::min(count - 1, static_cast<Index>(random.uniform() * static_cast<double>(count)));
}

std::vector<Index> random_order(Index count, std::uint64_t seed) {
  std::vector<Index> out = all_below(count);
  Random random(seed);
  for (Index left = count; left > 1; --left)
    std::swap(out[static_cast<std::size_t>(random_below(left, random))], out[static_cast<std::size_t>(left - 1)]);
  return out;
}

std::vector<Index> random_subset(Index count, Index most, std::uint64_t seed) {
  std::vector<Index> out = all_below(count);
  if (count <= most) return out;
  Random random(seed);
  for (Index i = 0; i < most; ++i)
    std::swap(out[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i + random_below(count - i, random))]);
  out.resize(static_cast<std::size_t>(most));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace gaussmith
