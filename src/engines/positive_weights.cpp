#include "engines/positive_weights.hpp"

#include "model/tangent_sites.hpp"

#include <algorithm>

namespace gaussmith {

SiteApproximation positive_weights(const SiteRows& sites, const Vector& eta, const Vector& first,
                                   const Vector& second) {
  SiteApproximation out{Vector(eta.size()), Vector(eta.size())};
  sites.for_pieces([&](const SiteBlock& block, Index begin, Index row, Index count) {
    const SiteTraits& traits = block.traits();
    if (traits.super_gaussian && !traits.log_concave) {
      const auto size = static_cast<std::size_t>(count);
      tangent_sites_at(block, begin, {eta.data() + row, size}, {out.precision.data() + row, size},
                       {out.shift.data() + row, size});
      sites.weigh(row, {out.precision.data() + row, size});
      sites.weigh(row, {out.shift.data() + row, size});
      return;
    }
    for (Index n = row; n < row + count; ++n) {
      out.precision(n) = std::max(0.0, -second(n));
      out.shift(n) = first(n) + out.precision(n) * eta(n);
    }
  });
  return out;
}

}  // namespace gaussmith
