#pragma once
// Gaussian sites around origins of their own, where their exponentials neither overflow nor cancel.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// Sites s around an origin o, one a row: log s(eta) = constant + slope (eta - o) - precision/2 (eta - o)^2.
struct CentredSites {
  Vector origin, constant, slope, precision;
};

/// The sites of a Gaussian approximation, log s = nu eta - tau/2 eta^2, around these origins.
[[nodiscard]] CentredSites centred(const SiteApproximation& sites, const Vector& origin);

}  // namespace gaussmith
