#pragma once
// Where a fit starts: sites at a penalised least-squares (or likelihood) solution from random weights, or at the
// priors.

#include "gaussmith/random.hpp"
#include "network/network_fit.hpp"

namespace gaussmith {

/// Without hidden units: the sites of ridge regression at the prior's scales.
void start_linear(NetworkFit& fit);

/// Hidden units with weights at zero: the thesis' start.
void start_zero(NetworkFit& fit);

/// Minimises the penalised loss by L-BFGS from random weights, several times with the scales of inputs and the noise
/// re-estimated, which switches inputs off; then Gauss-Newton sites there. O(n K d) a step.
void start_fitted(NetworkFit& fit, Random& random);

}  // namespace gaussmith
