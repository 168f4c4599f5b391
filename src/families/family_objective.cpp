#include "families/family_objective.hpp"

#include "base/overloaded.hpp"
#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"

#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace gaussmith {

namespace {

/// Rows of a dense design whose product is one block of work, those that stay in the cache between two products, and
/// the parts in which sums over rows are made.
constexpr Index rows_at_once = 1024;
constexpr Index rows_in_cache = 128;
constexpr Index partial_sums = 8;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

Span rows_of(Vector& v, Index row, Index count) { return {v.data() + row, static_cast<std::size_t>(count)}; }
ConstSpan rows_of(const Vector& v, Index row, Index count) { return {v.data() + row, static_cast<std::size_t>(count)}; }

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
  const Eigen::HouseholderQR<Matrix> qr(stacked);
  // Lower triangular with a positive diagonal, M = L L'.
  Matrix m = qr.matrixQR().topRows(k).triangularView<Eigen::Upper>().transpose();
  for (Index i = 0; i < k; ++i)
    if (m(i, i) < 0.0) m.col(i) *= -1.0;
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

FamilyObjective::FamilyObjective(const FamilySpace& space, const std::vector<Sites>& sites, int threads)
    : space_(&space),
      sites_(sites, threads),
      products_(*space.root_design, space.pattern, threads),
      threads_(threads) {}

Vector FamilyObjective::mean_rows_times(const Vector& x) const {
  return std::visit(Overloaded{[&](const Identity&) -> Vector { return x; },
                               [&](const Matrix& h) -> Vector {
                                 Vector out = Vector::Zero(h.rows());
                                 parallel_blocks(h.rows(), rows_at_once, threads_, [&](Index begin, Index end) {
                                   add_times(h.middleRows(begin, end - begin), x, out.segment(begin, end - begin));
                                 });
                                 return out;
                               },
                               [&](const SparseMatrix& h) -> Vector { return h * x; },
                               [&](const std::shared_ptr<const LinearOperator>&) -> Vector {
                                 throw InvalidModel("design: linear operators are not available yet");
                               }},
                    *space_->mean_design);
}

Vector FamilyObjective::mean_rows_transposed_times(const Vector& x) const {
  return std::visit(Overloaded{[&](const Identity&) -> Vector { return x; },
                               [&](const Matrix& h) -> Vector {
                                 Vector out = Vector::Zero(h.cols());
                                 parallel_blocks(h.cols(), 64, threads_, [&](Index begin, Index end) {
                                   add_transposed_times(h.middleCols(begin, end - begin), x,
                                                        out.segment(begin, end - begin));
                                 });
                                 return out;
                               },
                               [&](const SparseMatrix& h) -> Vector { return h.transpose() * x; },
                               [&](const std::shared_ptr<const LinearOperator>&) -> Vector {
                                 throw InvalidModel("design: linear operators are not available yet");
                               }},
                    *space_->mean_design);
}

Vector FamilyObjective::mean_gram_times(const Vector& precision, const Vector& x, Vector& hx) const {
  const auto* h = std::get_if<Matrix>(space_->mean_design);
  if (!h) {
    hx = mean_rows_times(x);
    return mean_rows_transposed_times(precision.cwiseProduct(hx));
  }
  // Both products of some rows while they are in the cache: the design is read from memory once. The parts are fixed,
  // so that sums do not depend on the number of threads.
  const Index part = std::max<Index>(1, (h->rows() + partial_sums - 1) / partial_sums);
  Matrix parts = Matrix::Zero(h->cols(), partial_sums);
  hx.setZero(h->rows());
  parallel_blocks(h->rows(), part, threads_, [&](Index begin, Index end) {
    auto sum = parts.col(begin / part);
    for (Index n = begin; n < end; n += rows_in_cache) {
      const Index count = std::min(rows_in_cache, end - n);
      const auto rows = h->middleRows(n, count);
      add_times(rows, x, hx.segment(n, count));
      add_transposed_times(rows, precision.segment(n, count).cwiseProduct(hx.segment(n, count)), sum);
    }
  });
  return parts.rowwise().sum();
}

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
  Vector value(eta.size());
  d_mean.resize(eta.size());
  d_variance.resize(eta.size());
  sites_.for_pieces([&](const SiteBlock& block, Index first, Index row, Index count) {
    block.expectation(first, rows_of(eta, row, count), rows_of(variance, row, count),
                      {rows_of(value, row, count), rows_of(d_mean, row, count), rows_of(d_variance, row, count)});
  });
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

SiteCurvature FamilyObjective::curvature(const FamilyPoint& point) const {
  constexpr double relative_step = 1e-3;
  const Vector& v = point.variance;
  const Vector step = relative_step * v.cwiseSqrt();
  const Vector variance_step = relative_step * v;
  Vector unused;
  Vector up;
  Vector down;
  SiteCurvature out;
  (void)expectation(point.at.eta + step, v, unused, up);
  (void)expectation(point.at.eta - step, v, unused, down);
  out.mixed = (up - down).cwiseQuotient(2.0 * step.cwiseMax(1e-300));
  (void)expectation(point.at.eta, v + variance_step, unused, up);
  (void)expectation(point.at.eta, v - variance_step, unused, down);
  out.variance = (up - down).cwiseQuotient(2.0 * variance_step.cwiseMax(1e-300));
  return out;
}

FamilyGradient FamilyObjective::hessian_times(const FamilyPoint& point, const SiteCurvature& curvature,
                                              const FamilyDirection& direction) const {
  // Pairs are (C, C), (C, d), (d, d): the middle one is half of dv.
  const Vector dv = 2.0 * products_.inner({&point.at.root, &direction.root}).col(1);
  const Vector weight = 2.0 * point.d_variance;
  const Vector in_mean = weight.cwiseProduct(direction.eta) + curvature.mixed.cwiseProduct(dv);
  const Vector in_variance = 2.0 * (curvature.mixed.cwiseProduct(direction.eta) + curvature.variance.cwiseProduct(dv));
  FamilyGradient out;
  out.mean = mean_rows_transposed_times(in_mean) - direction.mean_prior;
  out.root = products_.gather({{&point.at.root, &in_variance}, {&direction.root, &weight}}) - direction.root_prior;
  const RootPattern& p = space_->pattern;
  for (Index j = 0; j < p.columns; ++j) {
    const double c = point.at.root.entries(p.diagonal(j));
    out.root(p.diagonal(j)) -= space_->multiplicity(j) * direction.root.entries(p.diagonal(j)) / (c * c);
  }
  return out;
}

}  // namespace gaussmith
