#pragma once
// Averages over Gaussian latents of what their largest is when noise is added, by randomised points.

#include "gaussmith/class_probabilities.hpp"
#include "gaussmith/types.hpp"
#include "numerics/largest_noisy.hpp"
#include "numerics/latent_differences.hpp"

#include <functional>

namespace gaussmith {

enum class LargestAverage {
  probabilities,  ///< Of every class to be the largest: C numbers a row.
  log_sum_exp     ///< The mean of the largest with Gumbel noise, less Euler's constant: one number a row.
};

/// Fills value and error of a row where that takes no points, and says whether it did.
using WithoutPoints = std::function<bool(Index row, const LatentDifferences& differences)>;

/// Rows of C latents stand one after the other: C means, C * C covariances, their values, and an error.
///
/// Rows that `without_points` leaves: scrambled Sobol' points and antithetic pairs, the same for all rows, in the
/// principal directions that are left when the noise that is independent between the latents is integrated exactly.
/// Where little is independent and tolerances let it, in single precision: the softmax itself, or every chance of the
/// probit by separation of variables. Points are doubled until the spread of several scramblings is small enough or
/// there are 2^18 pairs (2^19 of plain softmaxes in double, 2^21 in single precision, 2^18 points of a class's chance);
/// the error stated is 3.5 standard errors. Rows share nothing else, so that results do not depend on other rows or on
/// threads.
void average_largest(LargestAverage average, ClassLink link, Index classes, ConstSpan mean, ConstSpan covariance,
                     const ProbabilityGoal& goal, const WithoutPoints& without_points, Span value, Span error);

}  // namespace gaussmith
