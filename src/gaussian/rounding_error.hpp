#pragma once
// What rounding leaves uncertain in the answers of a core (docs/numerics.md).

#include "gaussmith/types.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

/// Estimates, not bounds: errors of many roundings add up like independent ones, and the estimates are meant to be
/// above what is seen in all but rare cases.
struct RoundingError {
  double log_evidence = 0.0;  ///< Of the log-determinant and of the quadratic part at the mean, absolute.
  double mean = 0.0;          ///< Largest of any row, in posterior standard deviations.
  double variance = 0.0;      ///< Largest of any row, relative.
  double gradient = 0.0;      ///< Of an entry of the prior's gradient, absolute.

  /// A number that is none is as bad as infinity.
  [[nodiscard]] double largest_moment() const {
    return std::isnan(mean + variance) ? std::numeric_limits<double>::infinity() : std::max(mean, variance);
  }
};

/// The relative error that stands for one stored or computed number. A sum of n products is worse than that by a small
/// factor which grows slowly with n.
inline constexpr double rounding_unit = 2.0 * std::numeric_limits<double>::epsilon();

/// The largest error beside the size of what it is an error of; what has no size does not count.
[[nodiscard]] inline double largest_ratio(const Vector& error, const Vector& size) {
  double largest = 0.0;
  for (Index i = 0; i < error.size(); ++i)
    if (size(i) > 0.0) largest = std::max(largest, error(i) / size(i));
  return largest;
}

}  // namespace gaussmith
