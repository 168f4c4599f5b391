#pragma once
// Nested EP for multinomial-probit sites: an EP of C - 1 scalar probit sites inside every row
// (docs/engines/classes.md).

#include "engines/engine.hpp"

namespace gaussmith {

/// Fills the state from the fixed point of EP over all rows.
void run_ep_nested(const Ep& options, const Run& run, Posterior::State& state);

}  // namespace gaussmith
