#include "gaussmith/scores.hpp"

#include <cmath>

namespace gaussmith {

RowTotal row_total(const Vector& values) {
  RowTotal out;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    out.total += value;
    ++out.rows;
  }
  if (out.rows < 2) return out;
  const auto n = static_cast<double>(out.rows);
  const double mean = out.total / n;
  double squares = 0.0;
  for (const double value : values)
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  out.standard_error = std::sqrt(n * squares / (n - 1.0));
  return out;
}

}  // namespace gaussmith
