#pragma once
// What engines share that end in the site form: the core they begin with and the posterior they end with.

#include "gaussian/core.hpp"
#include "posterior/posterior_state.hpp"

namespace gaussmith {

/// The core of the state's model, for engines that end in the site form. Throws InvalidOption when it would not fit
/// into memory, before any work.
[[nodiscard]] std::shared_ptr<GaussianCore> build_core(const Run& run, Posterior::State& state);

/// What to do about a core of this form that does not fit into memory, in words.
[[nodiscard]] std::string memory_way_out(const Model& model, CoreForm form);

/// Ends in the site form: the posterior is the core's Gaussian at its sites, with this mean.
void settle_in_site_form(GaussianCore& core, const LatentPoint& mean, Posterior::State& state);

}  // namespace gaussmith
