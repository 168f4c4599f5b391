#include "gaussian/site_gradient.hpp"

#include <fmt/format.h>

namespace gaussmith {

void add_site_gradient(const std::vector<Sites>& blocks, const SiteParameterGradient& of, ParameterGradient& gradient) {
  Index row = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const SiteBlock& block = *blocks[b];
    const auto& parameters = block.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p)
      if (parameters[p].learnable)
        gradient[fmt::format("sites[{}].{}", b, parameters[p].name)] = of(block, row, static_cast<int>(p));
    row += block.size();
  }
}

double weighted_sum(const Vector& weights, Index row, const Vector& x) {
  return weights.size() > 0 ? weights.segment(row, x.size()).dot(x) : x.sum();
}

SiteParameterGradient expected_site_gradient(const Marginals& latent, const Vector& weights) {
  return [&latent, &weights](const SiteBlock& block, Index row, int parameter) {
    const auto size = static_cast<std::size_t>(block.size());
    Vector value(block.size());
    block.parameter_expectation(0, parameter, ConstSpan(latent.mean.data() + row, size),
                                ConstSpan(latent.variance.data() + row, size), view(value));
    return weighted_sum(weights, row, value);
  };
}

}  // namespace gaussmith
