#pragma once
// The local variational bound where variances are estimates: outer steps estimate the variances at the present
// tangents, inner ones find the mean for them by penalised least squares, and the tangents follow in closed form.

#include "engines/kl_search.hpp"

namespace gaussmith {

/// Whatever the variances v that a mean m was found for, the tangents at x = s^2 + v with tau = -2 g'(x) give
///   sum [beta s + g(x)] - 1/2 |u|^2 + 1/2 sum tau v - 1/2 log|I + K T|,
/// the bound for these tau: estimates cost tightness, and only the error of the log-determinant its being a bound. Ends
/// where new variances move the mean by less than a hundredth of a standard deviation, whatever the direction, and no
/// tau v by more than that. Leaves the core at the sites of the result. Throws InvalidModel where there is no Gaussian
/// to start from.
[[nodiscard]] KlClimb climb_double_loop(const ClimbOptions& options, const Run& run, GaussianCore& core,
                                        const SiteRows& sites);

}  // namespace gaussmith
