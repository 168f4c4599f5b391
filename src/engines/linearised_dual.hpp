#pragma once
// The convex problems that the decoupled solver makes of the bound (docs/engines/kl_solvers.md), each by its dual: with
// f the linearised and penalised sites, convex in the mean and the variance of a row,
//   D(alpha, lambda) = ½ alpha'K alpha - m0'alpha - ½ log|I + K L| + sum sup over m and v of [alpha m + ½ lambda v -
//   f],
// whose minimum is the problem's maximum, with mean m0 - K alpha and covariance (K^-1 + L)^-1.

#include "engines/kl_full.hpp"

namespace gaussmith {

/// A problem, where its search begins, and how far it goes: the largest difference between a row's moments under q and
/// where its f* is attained, in posterior standard deviations.
struct LinearisedProblem {
  const Linearised& linear;
  const KlPoint& from;
  double goal;
  int most_evaluations;
};

/// How a dual ended. `precision` and `alpha` are those of the last point, whatever it is.
struct LinearisedEnd {
  bool solved = false;
  Vector alpha, precision;
  int factorisations = 0;
};

/// Newton's method with the rows' f* exact and V o V by its diagonal, in the moments (m, v) at which f* is attained:
/// there every point is in the domain of f*, and no f* has to be sought.
[[nodiscard]] LinearisedEnd newton_on_dual(GaussianCore& core, const SiteRows& sites, const LinearisedProblem& problem);

/// As published: L-BFGS in (alpha, log lambda), f* by Newton's method of every row. Where the sites are nearly a cone,
/// f* is nearly the indicator of a curve, and this takes very many steps.
[[nodiscard]] LinearisedEnd lbfgs_on_dual(GaussianCore& core, const SiteRows& sites, const LinearisedProblem& problem);

}  // namespace gaussmith
