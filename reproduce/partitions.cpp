#include "partitions.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace reproduce {

std::vector<gs::Index> shuffled(gs::Index count, gs::Random& random) {
  std::vector<gs::Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), gs::Index{0});
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(random.uniform() * static_cast<double>(i))]);
  return order;
}

Unit unit_of(const gs::Vector& values) {
  const double mean = values.mean();
  return {.mean = mean, .sd = std::max(std::sqrt((values.array() - mean).square().mean()), 1e-12)};
}

gs::Vector in_units(const gs::Vector& values, const Unit& unit) {
  return ((values.array() - unit.mean) / unit.sd).matrix();
}

}  // namespace reproduce
