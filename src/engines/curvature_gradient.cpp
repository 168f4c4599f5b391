#include "engines/curvature_gradient.hpp"

#include "model/site_rows.hpp"

#include <fmt/format.h>

namespace gaussmith {

std::map<std::string, double, std::less<>> curvature_gradient(const Posterior::State& state) {
  const GaussianCore& core = *state.core;
  const SiteRows sites(state.model.sites, state.threads);
  const Vector& eta = state.latent.mean;
  const Vector& v = state.latent.variance;
  const Vector& tau = state.sites.precision;
  Vector third;
  sites.log_density(eta, nullptr, nullptr, nullptr, &third);
  const Vector s = 0.5 * v.cwiseProduct(third);
  const Vector v_s = core.covariance_times(s);
  const Vector implicit = s - tau.cwiseProduct(v_s);

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
    const Vector difference = eta - core.prior_mean();
    gradient["prior.variance"] =
        0.5 * core.inner(state.point, state.point) - 0.5 * tau.dot(v) + implicit.dot(difference);
  }
  Index row = 0;
  for (std::size_t b = 0; b < state.model.sites.size(); ++b) {
    const SiteBlock& block = *state.model.sites[b];
    const Index n = block.size();
    const auto& parameters = block.parameters();
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      if (!parameters[p].learnable) continue;
      Vector value(n);
      Vector first(n);
      Vector second(n);
      block.parameter_derivatives(0, static_cast<int>(p), ConstSpan(eta.data() + row, static_cast<std::size_t>(n)),
                                  {view(value), view(first), view(second)});
      gradient[fmt::format("sites[{}].{}", b, parameters[p].name)] =
          value.sum() + 0.5 * v.segment(row, n).dot(second) + v_s.segment(row, n).dot(first);
    }
    row += n;
  }
  return gradient;
}

}  // namespace gaussmith
