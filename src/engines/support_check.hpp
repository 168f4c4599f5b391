#pragma once
// E[log t] is -inf where t vanishes on an interval, and no number where log t is none. Sites given as functions are
// asked at points; they refuse such values with row and eta (InvalidModel).

#include "model/site_rows.hpp"

namespace gaussmith {

/// A few points across the prior's marginals, before any work.
void check_support(const Vector& prior_mean, const Vector& prior_variance, const SiteRows& sites);

/// Many points in equal steps of probability under the marginals of the result: an interval that holds more than one
/// step is found, however narrow it is for the quadrature. Cost: at most 2^20 values, or 128 a row.
void check_support_under(const Vector& mean, const Vector& variance, const SiteRows& sites);

}  // namespace gaussmith
