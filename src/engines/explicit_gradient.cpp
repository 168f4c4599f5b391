#include "engines/explicit_gradient.hpp"

#include <fmt/format.h>

namespace gaussmith {

std::map<std::string, double, std::less<>> explicit_gradient(const Posterior::State& state,
                                                             const SiteParameterGradient& sites,
                                                             const Vector& implicit) {
  const GaussianCore& core = *state.core;
  std::map<std::string, double, std::less<>> gradient;
  if (const auto* process = std::get_if<GaussianProcess>(&state.model.prior)) {
    const Matrix weights = core.covariance_weights(state.point, state.sites.shift, implicit);
    const Vector kernel = process->kernel->contract(process->inputs, weights, state.threads);
    const auto parameters = process->kernel->parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p)
      gradient["kernel." + parameters[p].name] = kernel(static_cast<Index>(p));
  }
  if (std::holds_alternative<Isotropic>(state.model.prior)) {
    // dK = K for the logarithm of the variance: the traces need only what is at hand, tr(Z K) = sum tau v.
    double& variance = gradient["prior.variance"];
    variance = 0.5 * core.inner(state.point, state.point) - 0.5 * state.sites.precision.dot(state.latent.variance);
    if (implicit.size() > 0) variance += implicit.dot(state.latent.mean - core.prior_mean());
  }
  Index row = 0;
  for (std::size_t b = 0; b < state.model.sites.size(); ++b) {
    const SiteBlock& block = *state.model.sites[b];
    const auto& parameters = block.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p)
      if (parameters[p].learnable)
        gradient[fmt::format("sites[{}].{}", b, parameters[p].name)] = sites(block, row, static_cast<int>(p));
    row += block.size();
  }
  return gradient;
}

}  // namespace gaussmith
