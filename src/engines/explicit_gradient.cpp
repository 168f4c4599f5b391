#include "engines/explicit_gradient.hpp"

namespace gaussmith {

ParameterGradient explicit_gradient(const GaussianCore& core, const LatentPoint& mean, const Posterior::State& state,
                                    const SiteParameterGradient& sites, const Vector& implicit) {
  ParameterGradient gradient = core.prior_gradient(mean, state.rows(), implicit);
  add_site_gradient(state.model.sites, sites, gradient);
  return gradient;
}

}  // namespace gaussmith
