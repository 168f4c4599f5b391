#pragma once
// Mean and variance of f = h_0 + v'g(h) where v, h_0 and the h_k are independent of one another.

#include "gaussmith/infer.hpp"

namespace gaussmith {

/// Of g(h_k) at every row: a column a unit.
struct ActivationMoments {
  Matrix mean, variance;
};

/// m_f = m'E[g] + E[h_0] and V_f = E[g]' S E[g] + sum_k (m_k^2 + S_kk) Var[g_k] + Var[h_0] with v ~ (m, S): exact first
/// two moments. O(K^2) a row.
[[nodiscard]] inline Marginals output_moments(const ActivationMoments& g, const Vector& mean, const Matrix& covariance,
                                              const Marginals& linear) {
  Marginals out = linear;
  if (mean.size() == 0) return out;
  const Vector square = mean.cwiseAbs2() + covariance.diagonal();
  out.mean += g.mean * mean;
  out.variance += (g.mean * covariance).cwiseProduct(g.mean).rowwise().sum() + g.variance * square;
  return out;
}

/// The site exp(shift g'v - precision (g'v)^2 / 2) that takes v ~ (m, S) to the tilted moments m + c alpha and
/// S - c c' beta, c = S g: exactly of rank one. `reach` is g'Sg and `mean` g'm; beta reach < 1.
struct RankOneSite {
  double precision, shift;

  RankOneSite(double alpha, double beta, double reach, double mean)
      : precision(beta / (1.0 - beta * reach)), shift(alpha * (1.0 + precision * reach) + precision * mean) {}
};

}  // namespace gaussmith
