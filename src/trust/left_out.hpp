#pragma once
// What the other rows say about each response, for the card.

#include "gaussmith/trust.hpp"

namespace gaussmith {

/// Leave-one-out log densities and probability integral transforms.
void put_left_out(const Posterior& posterior, TrustCard& card);

}  // namespace gaussmith
