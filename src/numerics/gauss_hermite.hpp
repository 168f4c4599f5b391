#pragma once

#include "gaussmith/types.hpp"

#include <Eigen/Eigenvalues>

#include <cmath>

namespace gaussmith {

/// A rule for E[f(x)], x ~ N(0, 1): the sum of weight f(node).
struct GaussHermite {
  Vector node, weight;
};

/// Exact for polynomials of degree 2 count - 1; all weights are relatively accurate. count <= 64.
[[nodiscard]] inline GaussHermite gauss_hermite(Index count) {
  // Nodes are the eigenvalues of the recurrence x p_k = sqrt(k + 1) p_k+1 + sqrt(k) p_k-1 of orthonormal polynomials,
  // weights 1 / sum_k p_k^2 there: those from eigenvectors would lose the small ones.
  Vector side(count - 1);
  for (Index k = 0; k + 1 < count; ++k) side(k) = std::sqrt(static_cast<double>(k + 1));
  Eigen::SelfAdjointEigenSolver<Matrix> solver;
  solver.computeFromTridiagonal(Vector::Zero(count), side, Eigen::EigenvaluesOnly);
  GaussHermite rule{solver.eigenvalues(), Vector(count)};
  for (Index i = 0; i < count; ++i) {
    const double x = 0.5 * (rule.node(i) - solver.eigenvalues()(count - 1 - i));  // They come in pairs.
    rule.node(i) = x;
    double before = 0.0, now = 1.0, squares = 1.0;
    for (Index k = 1; k < count; ++k) {
      const double next = (x * now - (k > 1 ? side(k - 2) : 0.0) * before) / side(k - 1);
      before = now;
      now = next;
      squares += now * now;
    }
    rule.weight(i) = 1.0 / squares;
  }
  return rule;
}

}  // namespace gaussmith
