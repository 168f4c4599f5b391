#pragma once
// The published ways to the optimum of the KL bound beside the site form (docs/engines/kl_solvers.md). All of them end
// at the site form of the same Gaussian.

#include "engines/kl_search.hpp"

namespace gaussmith {

/// Throws InvalidOption for what a solver cannot do, in one line.
void check_kl_solver(const Kl& options, const Model& model, const Run& run);

/// The form of the core that a solver needs, for those other than `sites`.
[[nodiscard]] CoreForm form_of_solver(const Kl& options);

/// Puts the end of a climb into another form of the core, that of the model.
void move_end(GaussianCore& core, const SiteRows& sites, KlClimb& climb);

/// Climbs with options.solver, which is not `sites`. Leaves the core at the sites of the result.
[[nodiscard]] KlClimb climb_with_solver(const Kl& options, const Run& run, const Model& model, GaussianCore& core,
                                        const SiteRows& sites);

}  // namespace gaussmith
