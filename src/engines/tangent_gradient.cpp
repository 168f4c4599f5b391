#include "engines/tangent_gradient.hpp"

#include "model/tangent_sites.hpp"

namespace gaussmith {

SiteParameterGradient tangent_site_gradient(const Marginals& latent, const Vector& weights) {
  return [&latent, &weights](const SiteBlock& block, Index row, int parameter) {
    const auto size = static_cast<std::size_t>(block.size());
    Vector value(block.size());
    tangent_parameter(block, 0, parameter, ConstSpan(latent.mean.data() + row, size),
                      ConstSpan(latent.variance.data() + row, size), view(value));
    return weighted_sum(weights, row, value);
  };
}

}  // namespace gaussmith
