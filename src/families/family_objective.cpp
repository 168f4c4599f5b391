#include "families/family_objective.hpp"

#include "linalg/dense.hpp"
#include "linalg/qr.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gaussmith {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// 1/2 log|Theta Theta' + diag(d)^2| through M = I + Theta' diag(d)^-2 Theta, K x K; V^-1 Theta and diag V^-1.
double factor_entropy(const RootPattern& p, const Vector& entries, Vector* gradient) {
  const Index k = p.rows - p.columns;
  if (gradient) gradient->setZero(p.entries());
  Matrix theta(p.columns, k);
  Vector d(p.columns);
  for (Index j = 0; j < p.columns; ++j) {
    theta.row(j) = entries.segment(p.start[static_cast<std::size_t>(j)], k).transpose();
    d(j) = entries(p.diagonal(j));
  }
  // Below this part of a standard deviation V is singular to working precision.
  if (!((d.array() > 1e-6 * theta.rowwise().norm().array()).all())) return minus_infinity;
  Matrix scaled = d.cwiseInverse().asDiagonal() * theta;
  // M = R'R by QR of [S; I] with the longest rows first: rows of very different length, where some d_j is nearly zero,
  // would cost the Cholesky factorisation of M half of the digits.
  std::vector<Index> order(static_cast<std::size_t>(p.columns));
  std::iota(order.begin(), order.end(), Index{0});
  const Vector lengths = scaled.rowwise().squaredNorm();
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return lengths(a) > lengths(b); });
  Matrix stacked(p.columns + k, k);
  for (Index j = 0; j < p.columns; ++j) stacked.row(j) = scaled.row(order[static_cast<std::size_t>(j)]);
  stacked.bottomRows(k).setIdentity();
  // Lower triangular with a positive diagonal, M = L L'.
  const Matrix m = triangular_factor(std::move(stacked)).transpose();
  if (!m.allFinite() || !(m.diagonal().array() > 0.0).all()) return minus_infinity;
  const double value = d.array().log().sum() + half_log_determinant(m);
  if (gradient) {
    // V^-1 = D^-1 (I - S M^-1 S') D^-1 with S = D^-1 Theta, and V^-1 Theta = D^-1 S M^-1.
    Matrix solved = scaled.transpose();
    solve_lower(m, solved);
    const Vector reduced = solved.colwise().squaredNorm();
    solve_lower_transposed(m, solved);
    for (Index j = 0; j < p.columns; ++j) {
      gradient->segment(p.start[static_cast<std::size_t>(j)], k) = solved.col(j) / d(j);
      (*gradient)(p.diagonal(j)) = (1.0 - reduced(j)) / d(j);
    }
  }
  return value;
}

}  // namespace

Vector PriorPrecision::times(const Vector& x) const {
  if (dense.size() > 0) return symmetric_times(dense, x);
  return diagonal.cwiseProduct(x);
}

double FamilyGradient::largest() const {
  return std::max(mean.size() > 0 ? mean.cwiseAbs().maxCoeff() : 0.0,
                  root.size() > 0 ? root.cwiseAbs().maxCoeff() : 0.0);
}

FamilyObjective::FamilyObjective(const FamilySpace& space, const Model& model, int threads)
    : space_(&space), sites_(model, threads), products_(space.root_design, space.pattern, threads), threads_(threads) {}

FamilyDirection FamilyObjective::direction(Vector mean, Vector root, Vector eta) const {
  FamilyDirection d;
  d.eta = eta.size() > 0 ? std::move(eta) : mean_rows_times(mean);
  d.mean_prior = space_->mean_prior.times(mean);
  d.root_prior = root_prior(root);
  d.mean = std::move(mean);
  d.root = products_.project(std::move(root));
  return d;
}

FamilyPoint FamilyObjective::at(Vector mean, Vector root) const {
  FamilyPoint point;
  point.at = direction(std::move(mean), std::move(root));
  point.at.eta += space_->centre;
  point.variance = products_.inner({&point.at.root}).col(0);
  point.value = expectation(point.at.eta, point.variance, point.d_mean, point.d_variance) +
                entropy(point.at.root.entries, nullptr) - 0.5 * point.at.mean.dot(point.at.mean_prior) -
                0.5 * point.at.root.entries.dot(point.at.root_prior) + space_->constant;
  return point;
}

double FamilyObjective::expectation(const Vector& eta, const Vector& variance, Vector& d_mean,
                                    Vector& d_variance) const {
  Vector value;
  sites_.expectation(eta, variance, &value, &d_mean, &d_variance);
  const double sum = value.sum();
  return std::isfinite(sum) && d_mean.allFinite() && d_variance.allFinite() ? sum : minus_infinity;
}

double FamilyObjective::entropy(const Vector& entries, Vector* gradient) const {
  const RootPattern& p = space_->pattern;
  if (!p.triangular) return factor_entropy(p, entries, gradient);
  if (gradient) gradient->setZero(p.entries());
  double sum = 0.0;
  for (Index j = 0; j < p.columns; ++j) {
    const double c = entries(p.diagonal(j));
    if (!(c > 0.0)) return minus_infinity;
    sum += space_->multiplicity(j) * std::log(c);
    if (gradient) (*gradient)(p.diagonal(j)) = space_->multiplicity(j) / c;
  }
  return sum;
}

Vector FamilyObjective::root_prior(const Vector& entries) const {
  const RootPattern& p = space_->pattern;
  const PriorPrecision& prior = space_->root_prior;
  Vector out = Vector::Zero(p.entries());
  const bool dense = prior.dense.size() > 0;
  for (Index j = 0; j < p.columns; ++j)
    for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
      const auto r = static_cast<std::size_t>(p.row[static_cast<std::size_t>(e)]);
      if (!dense || p.diagonal_row[r])
        out(e) = space_->multiplicity(static_cast<Index>(r)) * prior.diagonal(j) * entries(e);
    }
  if (!dense) return out;
  for (const RootBlock& at : p.blocks) {
    const Index columns = at.column_end - at.column_begin;
    p.add_block(
        at,
        gaussmith::times(p.block(at, entries), prior.dense.block(at.column_begin, at.column_begin, columns, columns)),
        out);
  }
  return out;
}

FamilyGradient FamilyObjective::gradient(const FamilyPoint& point, const Vector* sites_root) const {
  FamilyGradient g;
  g.mean = mean_rows_transposed_times(point.d_mean) - point.at.mean_prior;
  const Vector weight = 2.0 * point.d_variance;
  Vector entropy_gradient;
  (void)entropy(point.at.root.entries, &entropy_gradient);
  g.root = (sites_root ? *sites_root : products_.gather({{&point.at.root, &weight}}, &g.squares)) -
           point.at.root_prior + entropy_gradient;
  return g;
}

}  // namespace gaussmith
