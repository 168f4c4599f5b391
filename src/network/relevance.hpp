#pragma once
// What every input of a fitted network contributes.

#include "network/network_fit.hpp"

namespace gaussmith {

/// Moments of one start that relevance is made of, by the inputs that vary.
struct InputMoments {
  Vector square;                                          ///< E[u_j^2] + sum_k E[v_k^2] E[w_kj^2].
  Vector largest_ratio;                                   ///< The largest |mean| / sd of its weights.
  Vector hidden_mean, hidden_sd, linear_mean, linear_sd;  ///< Of log scales of its own; empty where it has none.
};
[[nodiscard]] InputMoments input_moments(const NetworkFit& fit);

/// Averaged over the starts by their weights; all inputs of the model, the largest share first. Constant ones have
/// none.
[[nodiscard]] std::vector<InputRelevance> relevance_of(const NetworkModel& model, const NetworkProblem& problem,
                                                       const std::vector<InputMoments>& starts, const Vector& weights);

}  // namespace gaussmith
