#pragma once
// Probabilities of C classes whose latents are Gaussian: E[softmax_c(f)], or the chance that f_c + e_c, e ~ N(0, I), is
// the largest.

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/types.hpp"
#include "numerics/largest_noisy.hpp"

namespace gaussmith {

/// Rows of C classes stand one after the other: C means, C * C covariances, C probabilities, and one error for each
/// row. Only differences of latents matter.
///
/// quadrature (C <= 3): the trapezoidal rule in whitened differences, to 1e-10.
/// qmc: see average_largest. The error stated holds in 19 rows of 20 or more; all rows use the same points, so that
/// errors of rows are not independent. Results depend on the seed, but not on threads or on other rows.
/// Ten classes and a variance of 9 to 1e-4: 1 ms of one core for posteriors of independent functions, 5 ms (logit) and
/// 1 ms (probit) under full random covariances.
void class_probabilities(ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                         const ProbabilityGoal& options, Span probability, Span error);

}  // namespace gaussmith
