#include "gaussian/distinct_rows.hpp"

#include <algorithm>
#include <numeric>

namespace gaussmith {

namespace {

/// Below zero, zero or above it as row a comes before, with or after row b.
int compare(const Matrix& rows, Index a, Index b) {
  for (Index j = 0; j < rows.cols(); ++j)
    if (rows(a, j) != rows(b, j)) return rows(a, j) < rows(b, j) ? -1 : 1;
  return 0;
}

}  // namespace

DistinctRows distinct_rows(const Matrix& rows) {
  const auto n = static_cast<std::size_t>(rows.rows());
  std::vector<Index> order(n);
  std::iota(order.begin(), order.end(), Index{0});
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    const int c = compare(rows, a, b);
    return c < 0 || (c == 0 && a < b);
  });
  DistinctRows out;
  out.of.resize(n);
  // Equal rows stand together, their first one in front.
  std::vector<Index> leader(n);
  for (std::size_t i = 0; i < n; ++i) {
    const bool same = i > 0 && compare(rows, order[i - 1], order[i]) == 0;
    leader[static_cast<std::size_t>(order[i])] = same ? leader[static_cast<std::size_t>(order[i - 1])] : order[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (leader[i] == static_cast<Index>(i)) {
      out.of[i] = static_cast<Index>(out.first.size());
      out.first.push_back(static_cast<Index>(i));
    } else {
      out.of[i] = out.of[static_cast<std::size_t>(leader[i])];
    }
  }
  return out;
}

}  // namespace gaussmith
