#include "families/factor_model.hpp"

#include "families/step_model.hpp"
#include "linalg/dense.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// Rounds of the alternation, one eigendecomposition each; fewer where these are dear.
constexpr int most_rounds = 100;
constexpr int few_rounds = 10;
constexpr Index many_weights = 32;
/// A round that gains less than this ends the alternation: the ascent of the bound itself goes on from there.
constexpr double least_gain = 1e-7;
/// Two optima of F closer than this are one.
constexpr double same_value = 1e-6;
/// A start for every weight up to this dimension; beyond it D^4 is too much.
constexpr Index most_single_starts = 16;
constexpr double smallest_eigenvalue = 1e-300;

/// A at the point, as the steps see it: negative precisions are left out.
Matrix model_precision(const FamilyObjective& objective, const FamilyPoint& point) {
  const FamilySpace& space = objective.space();
  Matrix a = objective.products().gram(positive_precision(point), 0, space.pattern.columns);
  if (space.root_prior.dense.size() > 0)
    a += space.root_prior.dense;
  else
    a.diagonal() += space.root_prior.diagonal;
  mirror_lower(a);
  return a;
}

Vector entries_of(const RootPattern& p, const FactorRoot& root) {
  Vector entries(p.entries());
  for (Index j = 0; j < p.columns; ++j) {
    entries.segment(p.start[static_cast<std::size_t>(j)], root.loadings.cols()) = root.loadings.row(j).transpose();
    entries(p.diagonal(j)) = root.deviations(j);
  }
  return entries;
}

/// The best d for given loadings, one after the other; C = I + sum_j theta_j theta_j' / d_j^2.
void improve_deviations(const Matrix& a, FactorRoot& root) {
  const Index k = root.loadings.cols();
  Matrix c = Matrix::Identity(k, k) + root.loadings.transpose() *
                                          root.deviations.array().square().inverse().matrix().asDiagonal() *
                                          root.loadings;
  for (Index j = 0; j < a.rows(); ++j) {
    const Vector theta = root.loadings.row(j).transpose();
    const double d = root.deviations(j);
    const Matrix without = c - theta * theta.transpose() / (d * d);
    const Eigen::LLT<Matrix> factor(without);
    if (factor.info() != Eigen::Success) continue;
    const double variance = 1.0 / a(j, j);
    const double best =
        std::max(variance - theta.dot(factor.solve(theta)), smallest_deviation * smallest_deviation * variance);
    root.deviations(j) = std::sqrt(best);
    c = without + theta * theta.transpose() / best;
  }
}

}  // namespace

FactorRoot best_loadings(const Matrix& a, const Vector& deviations, Index factors) {
  const Index d = a.rows();
  const SymmetricEigen eigen = symmetric_eigen(deviations.asDiagonal() * a * deviations.asDiagonal());
  FactorRoot out{Matrix::Zero(d, factors), deviations,
                 deviations.array().log().sum() - 0.5 * deviations.array().square().matrix().dot(a.diagonal())};
  // Eigenvalues ascend.
  for (Index i = 0; i < std::min(factors, d); ++i) {
    const double lambda = std::max(eigen.values(i), smallest_eigenvalue);
    if (!(lambda < 1.0)) break;
    out.loadings.col(i) = deviations.cwiseProduct(eigen.vectors.col(i)) * std::sqrt(1.0 / lambda - 1.0);
    out.value += 0.5 * (lambda - 1.0 - std::log(lambda));
  }
  return out;
}

FactorRoot fit_factors(const Matrix& a, Vector deviations, Index factors) {
  FactorRoot now = best_loadings(a, deviations, factors);
  const int rounds = a.rows() > many_weights ? few_rounds : most_rounds;
  for (int round = 0; round < rounds; ++round) {
    FactorRoot next = now;
    improve_deviations(a, next);
    next = best_loadings(a, next.deviations, factors);
    const double gain = next.value - now.value;
    if (!(gain > 0.0)) break;
    now = std::move(next);
    if (gain < least_gain) break;
  }
  return now;
}

std::vector<Vector> factor_roots(const FamilyObjective& objective, const FamilyPoint& point) {
  const RootPattern& p = objective.space().pattern;
  const Index factors = p.rows - p.columns;
  const Matrix a = model_precision(objective, point);
  if (!a.allFinite() || !(a.diagonal().array() > 0.0).all()) return {};
  const Vector alone = a.diagonal().cwiseInverse().cwiseSqrt();
  Vector here(p.columns);
  for (Index j = 0; j < p.columns; ++j) here(j) = point.at.root.entries(p.diagonal(j));
  std::vector<FactorRoot> found = {fit_factors(a, here, factors), fit_factors(a, alone, factors)};
  for (Index j = 0; j < p.columns && p.columns <= most_single_starts; ++j) {
    Vector start = alone;
    start(j) *= smallest_deviation;
    found.push_back(fit_factors(a, std::move(start), factors));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FactorRoot& x, const FactorRoot& y) { return x.value > y.value; });
  std::vector<Vector> out;
  double last = 0.0;
  for (const FactorRoot& root : found) {
    if (!out.empty() && last - root.value < same_value) continue;
    last = root.value;
    out.push_back(entries_of(p, root));
  }
  return out;
}

}  // namespace gaussmith
