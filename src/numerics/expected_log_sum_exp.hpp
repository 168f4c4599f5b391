#pragma once

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/types.hpp"

namespace gaussmith {

/// E[log sum_c exp f_c] for rows of C Gaussian latents, one after the other: C means, C * C covariances, one value and
/// its absolute error for each row.
///
/// quadrature (C <= 3): the trapezoidal rule in whitened differences, to 1e-10 of the spread of the latents.
/// qmc: as for class probabilities; log sum exp f is the mean of the largest of f_c and Gumbel noise, so that what is
/// independent between the latents is integrated exactly here too.
void expected_log_sum_exp(Index classes, ConstSpan mean, ConstSpan covariance, const ProbabilityGoal& goal, Span value,
                          Span error);

}  // namespace gaussmith
