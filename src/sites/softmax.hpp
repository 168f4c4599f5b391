#pragma once
// One row of C >= 2 classes under the softmax, log p_y = eta_y - log sum_c exp eta_c. The C numbers of a row stand side
// by side, and so do the C * C numbers of its symmetric matrices.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// log p_label. Writes the gradient e_label - p to `first` and the Hessian -(diag p - pp') to `second`; an empty span
/// is not wanted, but `second` needs `first`. Every entry is relatively accurate, 1 - p_label near 0 included. O(C^2).
[[nodiscard]] double softmax_log_density(Index label, ConstSpan eta, Span first = {}, Span second = {});

/// out_k = sum_ab V_ab d^3 log p_y / d eta_a d eta_b d eta_k = -p_k (w_k - sum_c p_c w_c), the same for every label,
/// with w_c = (e_c - p)' V (e_c - p). Entries of `out` sum to zero. O(C^2).
void softmax_curvature_slope(ConstSpan eta, ConstSpan covariance, Span out);

}  // namespace gaussmith
