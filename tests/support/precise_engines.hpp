#pragma once
// Laplace, KL and EP to sixty digits for sites whose integrals have closed forms: what the engines claim for sites that
// are not Gaussian is measured with these. They share no code with the library.

#include "support/ill_conditioned.hpp"

#include <optional>

namespace gaussmith::testing {

struct PreciseFit {
  Precise log_evidence;
  PreciseVector latent_mean, latent_variance;
  PreciseVector weight_mean, weight_variance;
};

/// Each needs log-concave sites of one kind; nothing where the iteration does not reach thirty digits.
/// Mode and curvature: bernoulli-logit and poisson.
std::optional<PreciseFit> precise_laplace(const IllConditioned& problem);
/// The optimum of the Gaussian bound: poisson, whose E[e^eta] is e^(m + v/2).
std::optional<PreciseFit> precise_kl(const IllConditioned& problem);
/// The fixed point: bernoulli-probit.
std::optional<PreciseFit> precise_ep(const IllConditioned& problem);

/// An ill-conditioned model whose sites are of this kind, with moderate responses.
IllConditioned ill_conditioned(std::uint64_t seed, const std::string& likelihood);

}  // namespace gaussmith::testing
