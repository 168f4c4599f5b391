#pragma once

#include "gaussmith/sites.hpp"

namespace gaussmith {

/// Super-Gaussian sites t = exp(beta s + g(s^2)), s = eta - centre: the quadratic that touches log t where s^2 = x and
/// lies below it everywhere else has
///   tau = -2 g'(x) >= 0,  nu = beta + tau centre
/// (student-t: tau = (nu + 1) / (nu scale^2 + x)). For rows of a block from `begin` on.
void tangent_sites(const SiteBlock& block, Index begin, ConstSpan x, Span precision, Span shift);

/// The same at x = (eta - centre)^2.
void tangent_sites_at(const SiteBlock& block, Index begin, ConstSpan eta, Span precision, Span shift);

}  // namespace gaussmith
