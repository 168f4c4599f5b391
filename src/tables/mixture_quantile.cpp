#include "tables/mixture_quantile.hpp"

#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

double mixture_quantile(const std::vector<Marginals>& parts, const Vector& weights, Index j, double level) {
  if (parts.size() == 1) return parts[0].mean(j) + normal_quantile(level) * std::sqrt(parts[0].variance(j));
  double lower = std::numeric_limits<double>::infinity();
  double upper = -lower;
  for (const Marginals& part : parts) {
    const double own = part.mean(j) + normal_quantile(level) * std::sqrt(part.variance(j));
    lower = std::min(lower, own);
    upper = std::max(upper, own);
  }
  for (int step = 0; step < 60 && lower < upper; ++step) {
    const double middle = 0.5 * (lower + upper);
    double mass = 0.0;
    for (std::size_t k = 0; k < parts.size(); ++k)
      mass += weights(static_cast<Index>(k)) * ndtr((middle - parts[k].mean(j)) / std::sqrt(parts[k].variance(j)));
    (mass < level ? lower : upper) = middle;
  }
  return 0.5 * (lower + upper);
}

}  // namespace gaussmith
