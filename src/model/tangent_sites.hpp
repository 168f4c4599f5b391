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

/// What the tangent gives in place of E[log t] under N(mean, variance): with x = s^2 + variance, where s is that of the
/// mean, the best tangent is the one at x, and
///   e = beta s + g(x),  de/dmean = beta + 2 s g'(x),  de/dvariance = g'(x).
/// g is convex, so that e <= E[log t]. An empty span is not computed.
void tangent_expectation(const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance,
                         const ExpectationOut& out);

/// 4 s^2 g''(x): by how much d2e/dmean2 exceeds 2 g'(x).
void tangent_bend(const SiteBlock& block, Index begin, ConstSpan mean, ConstSpan variance, Span out);

/// de / d log(parameter) of that e. With xi = sqrt(x) and D the derivative of log t it is the even part of D around the
/// centre at xi plus s / xi times the odd part, whichever of beta, centre and g depend on the parameter.
void tangent_parameter(const SiteBlock& block, Index begin, int parameter, ConstSpan mean, ConstSpan variance,
                       Span out);

}  // namespace gaussmith
