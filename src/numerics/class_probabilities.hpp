#pragma once
// Probabilities of C classes whose latents are Gaussian: E[softmax_c(f)], or the chance that f_c + e_c, e ~ N(0, I), is
// the largest.

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/types.hpp"

namespace gaussmith {

enum class ClassLink { logit, probit };

/// Rows of C classes stand one after the other: C means, C * C covariances, C probabilities, and one error for each
/// row. Only differences of latents matter.
///
/// quadrature (C <= 3): the trapezoidal rule in whitened differences, to 1e-10.
/// qmc: scrambled Sobol' points and antithetic pairs in the principal directions of the differences; for the probit
/// the smallest variance of a difference is integrated exactly. The error stated is that of several scramblings and
/// holds in 19 rows of 20 or more; all rows use the same points, so that errors of rows are not independent.
/// Results depend on the seed, but not on threads or on other rows. Points stop at 2^18 pairs a row: with ten classes
/// and a variance of 9 that states 2e-4 for the logit in 60 ms of one core; the probit states 1e-4 there in 260 ms.
void class_probabilities(ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                         const ProbabilityGoal& options, Span probability, Span error);

}  // namespace gaussmith
