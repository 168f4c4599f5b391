#pragma once
// Gaussian-KL inference with a constrained covariance (docs/engines/kl_families.md): the posterior is not of the site
// form but holds a root of its covariance.

#include "engines/kl_covariance.hpp"
#include "engines/posterior_state.hpp"

namespace gaussmith {

/// Fills the state from the optimum of the bound within the family. The geometry is that of the state's model.
void run_kl_family(const Kl& options, const KlCovariance& covariance, const Run& run,
                   std::shared_ptr<PriorGeometry> geometry, Posterior::State& state);

}  // namespace gaussmith
