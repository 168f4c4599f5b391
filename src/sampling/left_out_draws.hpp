#pragma once
// Leave-one-out predictions from draws of the posterior: draw s has weight 1 / t_n(eta_n) for row n, Pareto-smoothed
// (Vehtari, Gelman and Gabry 2017).

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// `latents` are draws of eta, N C x S. NaN for rows whose weights have no tail to speak of.
[[nodiscard]] LeaveOneOut left_out_of_draws(const Model& model, const Matrix& latents, int threads);

}  // namespace gaussmith
