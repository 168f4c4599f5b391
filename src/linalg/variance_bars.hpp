#pragma once
// From the spread of repeated estimates of many variances to one bar on their root-mean-square relative error.

#include "gaussmith/types.hpp"

#include <cstdint>
#include <vector>

namespace gaussmith {

/// The estimates are means of K repetitions g_k, of which only n items are seen here. Column k of `deviations` is
/// (g_k - mean) / value. The square R^2 of the error of the mean is distributed about as (s / K) chi^2_f / f, s = tr C
/// the relative variance of one repetition, summed over items and divided by n, and f = s^2 / tr C^2, which is 1 where
/// all items err together and large where they err on their own. `variance` is an estimate of s and `known` how many
/// repetitions it rests on: then R^2 is below (s / K) times the quantile of F(f, f known).
[[nodiscard]] double relative_error_bar(const Matrix& deviations, double variance, Index known);

}  // namespace gaussmith
