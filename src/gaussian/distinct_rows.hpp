#pragma once

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// The rows of a matrix without those that repeat an earlier one exactly.
struct DistinctRows {
  std::vector<Index> first;  ///< Where each distinct row stands for the first time, in order.
  std::vector<Index> of;     ///< For every row the number of its distinct one.
  [[nodiscard]] bool any_copies() const { return first.size() < of.size(); }
};

/// O(N d log N).
[[nodiscard]] DistinctRows distinct_rows(const Matrix& rows);

}  // namespace gaussmith
