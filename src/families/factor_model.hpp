#pragma once
// Factor analysis of a Gaussian: the best V = Theta Theta' + diag(d)^2 where the site precisions are held fixed, so
// that the bound is, up to a constant,
//   F(Theta, d) = 1/2 log|V| - 1/2 tr(A V),  A = P + H'diag(tau) H.

#include "families/family_objective.hpp"

namespace gaussmith {

struct FactorRoot {
  Matrix loadings;    ///< Theta, D x K.
  Vector deviations;  ///< d.
  double value = 0.0;
};

/// The best loadings for given d, and F there. With D = diag(d) and M = D A D, Theta = D L, where the columns of L are
/// the eigenvectors of the K smallest eigenvalues lambda of M, each with the squared length 1/lambda - 1 or, where
/// lambda >= 1, none:
///   F = sum log d - 1/2 tr M + 1/2 sum (lambda - 1 - log lambda).
/// D^3.
[[nodiscard]] FactorRoot best_loadings(const Matrix& a, const Vector& deviations, Index factors);

/// Alternates best_loadings with the best d, one entry after the other: (V^-1)_jj = 1/(d_j^2 + s_j), so d_j^2 =
/// 1/A_jj - s_j, at least the floor of the step model. F does not fall.
[[nodiscard]] FactorRoot fit_factors(const Matrix& a, Vector deviations, Index factors);

/// Roots to go on from at a point of a factor family: the different optima of F, best first, that fit_factors finds
/// from the point itself and from starts in which one of the weights leaves all of its variance to the factors.
[[nodiscard]] std::vector<Vector> factor_roots(const FamilyObjective& objective, const FamilyPoint& point);

}  // namespace gaussmith
