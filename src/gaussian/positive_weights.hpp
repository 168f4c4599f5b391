#pragma once

#include "gaussmith/infer.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// Site parameters with tau >= 0 whose quadratic touches log t at eta and, for super-Gaussian sites, lies below it
/// (tangent_sites.hpp). The Gaussian they define is a step that cannot decrease the log joint. Other sites keep their
/// curvature where it is positive, else take none.
[[nodiscard]] SiteApproximation positive_weights(const SiteRows& sites, const Vector& eta, const Vector& first,
                                                 const Vector& second);

}  // namespace gaussmith
