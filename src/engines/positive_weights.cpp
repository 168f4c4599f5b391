#include "engines/positive_weights.hpp"

#include <vector>

namespace gaussmith {

SiteApproximation positive_weights(const SiteRows& sites, const Vector& eta, const Vector& first,
                                   const Vector& second) {
  SiteApproximation out{Vector(eta.size()), Vector(eta.size())};
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (traits.super_gaussian && !traits.log_concave) {
      const auto size = static_cast<std::size_t>(count);
      std::vector<double> slope(size);
      std::vector<double> centre(size);
      std::vector<double> x(size);
      std::vector<double> derivative(size);
      block.bound_shape(begin, slope, centre);
      for (std::size_t i = 0; i < size; ++i) {
        const double s = eta(row + static_cast<Index>(i)) - centre[i];
        x[i] = s * s;
      }
      block.bound(begin, x, {.value = {}, .first = derivative, .second = {}});
      for (std::size_t i = 0; i < size; ++i) {
        const Index n = row + static_cast<Index>(i);
        out.precision(n) = -2.0 * derivative[i];
        out.shift(n) = slope[i] + out.precision(n) * centre[i];
      }
    } else {
      for (Index n = row; n < row + count; ++n) {
        out.precision(n) = std::max(0.0, -second(n));
        out.shift(n) = first(n) + out.precision(n) * eta(n);
      }
    }
  });
  return out;
}

}  // namespace gaussmith
