#pragma once

#include "engines/kl_search.hpp"

namespace gaussmith {

/// Mean field one site at a time: q(auxiliary) of a row, then q(w) by a rank-one update, then the next row. Each update
/// maximises the bound over its own factor, so that it never falls. An iteration is a sweep over all rows and the
/// factorisation after it. Throws InvalidOption where the core's form has no updates of one site.
[[nodiscard]] KlClimb pass_messages(const ClimbOptions& options, const Run& run, GaussianCore& core,
                                    const SiteRows& sites);

}  // namespace gaussmith
