#include "engines/explicit_gradient.hpp"

namespace gaussmith {

ParameterGradient explicit_gradient(const Posterior::State& state, const SiteParameterGradient& sites,
                                    const Vector& implicit) {
  const GaussianCore& core = *state.core;
  ParameterGradient gradient;
  if (const auto* process = std::get_if<GaussianProcess>(&state.model.prior))
    add_kernel_gradient(*process, core.covariance_weights(state.point, state.sites.shift, implicit), state.threads,
                        gradient);
  if (std::holds_alternative<Isotropic>(state.model.prior)) {
    // dK = K for the logarithm of the variance: the traces need only what is at hand, tr(Z K) = sum tau v.
    double& variance = gradient["prior.variance"];
    variance = 0.5 * core.inner(state.point, state.point) - 0.5 * state.sites.precision.dot(state.latent.variance);
    if (implicit.size() > 0) variance += implicit.dot(state.latent.mean - core.prior_mean());
  }
  add_site_gradient(state.model.sites, sites, gradient);
  return gradient;
}

}  // namespace gaussmith
