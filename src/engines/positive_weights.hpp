#pragma once

#include "gaussmith/infer.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// Site parameters with tau >= 0 whose quadratic touches log t at eta and, for super-Gaussian sites, lies below it:
/// tau = -2 g'(s^2), nu = beta + tau centre (student-t: tau = (nu + 1) / (nu scale^2 + s^2)). The Gaussian they define
/// is a step that cannot decrease the log joint. Other sites keep their curvature where it is positive, else take none.
[[nodiscard]] SiteApproximation positive_weights(const SiteRows& sites, const Vector& eta, const Vector& first,
                                                 const Vector& second);

}  // namespace gaussmith
