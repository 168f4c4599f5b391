#pragma once
// What a weighted mixture of predictions says where that is more than an average. Weights sum to one.

#include "gaussmith/infer.hpp"
#include "gaussmith/predict.hpp"

#include <vector>

namespace gaussmith {

/// Throws InvalidModel unless there are parts with positive weights that predict the same points with one likelihood.
void check_mixture(const std::vector<Prediction>& parts, const Vector& weights);

/// E[m] and E[v] + Var[m]: the law of total variance.
[[nodiscard]] Marginals total_moments(const std::vector<const Marginals*>& parts, const Vector& weights);

/// The same of the responses; NaN where a part has no such moment.
[[nodiscard]] Marginals mixture_moments(const std::vector<Prediction>& parts, const Vector& weights);

/// Where the averaged distribution function reaches the level.
[[nodiscard]] Vector mixture_quantile(const std::vector<Prediction>& parts, const Vector& weights, double level);

/// log of the averaged density, without underflow.
[[nodiscard]] Vector mixture_log_density(const std::vector<Prediction>& parts, const Vector& weights, const Vector& y);

/// Leave-one-out predictions of the mixture. The weights are those given all rows; without row n a part has
/// w_k / p_k(y_n | others) of them, so that 1 / p(y_n | others) = sum w_k / p_k(y_n | others). NaN for a row that has
/// no such prediction in some part that weighs anything.
[[nodiscard]] LeaveOneOut mixture_left_out(const std::vector<const LeaveOneOut*>& parts, const Vector& weights);

/// A part for every draw of every point, then a draw from it.
[[nodiscard]] Matrix mixture_samples(const std::vector<Prediction>& parts, const Vector& weights, int draws,
                                     std::uint64_t seed);

}  // namespace gaussmith
