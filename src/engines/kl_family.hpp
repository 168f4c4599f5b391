#pragma once
// Gaussian-KL inference with a constrained covariance (docs/engines/kl_families.md): the posterior is not of the site
// form but holds a root of its covariance.

#include "engines/kl_covariance.hpp"
#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// Fills the state from the optimum of the bound within the family.
void run_kl_family(const Kl& options, const KlCovariance& covariance, const Run& run, Posterior::State& state);

}  // namespace gaussmith
