#pragma once
// What the other rows say about each response, for the card and for comparisons.

#include "gaussmith/trust.hpp"

namespace gaussmith {

/// P(Y_n <= y_n | others), for counts and signs less half P(Y_n = y_n); NaN for censored rows, labels and rows of
/// several latents.
[[nodiscard]] Vector left_out_transforms(const Model& model, const LeaveOneOut& left_out);

/// Leave-one-out log densities and these.
void put_left_out(const Posterior& posterior, TrustCard& card);

}  // namespace gaussmith
