#include "families/step_model.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/conjugate_gradients.hpp"
#include "linalg/dense.hpp"

#include <Eigen/Cholesky>

#include <algorithm>
#include <cmath>
#include <functional>

namespace gaussmith {

namespace {

/// Rows with more entries than this are not solved for one by one.
constexpr Index largest_window = 160;
/// Conjugate-gradient steps on the mean within one step of the ascent; its directions are combined with the last ones
/// anyway, so that accuracy is not needed.
constexpr int mean_steps = 25;
constexpr double mean_reduction = 0.1;
constexpr double mean_share = 0.1;
/// A purely diagonal entry changes at most by this factor in one step.
constexpr double largest_change = 10.0;

/// Ridges that make A positive definite: the first beside its largest diagonal entry, each ten times the one before.
constexpr double smallest_ridge = 1e-12;
constexpr int most_ridges = 20;

}  // namespace

Vector positive_precision(const FamilyPoint& point) { return (-2.0 * point.d_variance).cwiseMax(0.0); }

StepModel::StepModel(const FamilyObjective& objective) : objective_(&objective) {
  const FamilySpace& space = objective.space();
  const RootPattern& p = space.pattern;
  const bool full = p.triangular && p.panel_rows == p.columns && p.entries() == p.columns * (p.columns + 1) / 2;
  direct_ = (p.triangular && p.columns <= direct_dimension) || space.root_prior.dense.size() > 0 || full;
  row_entries_.resize(static_cast<std::size_t>(p.rows));
  Index widest = 0;
  for (Index j = 0; j < p.columns; ++j)
    for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
      const auto r = static_cast<std::size_t>(p.row[static_cast<std::size_t>(e)]);
      if (p.diagonal_row[r]) continue;
      row_entries_[r].emplace_back(static_cast<int>(j), e);
      widest = std::max(widest, static_cast<Index>(row_entries_[r].size()));
    }
  windows_ = p.triangular && widest <= largest_window && p.panel_rows > 0;
}

Vector StepModel::diagonal(const Vector& precision) const {
  return objective_->space().root_prior.diagonal + objective_->products().squares(precision);
}

Vector StepModel::mean_diagonal(const Vector& precision) const {
  const FamilySpace& space = objective_->space();
  if (space.shared) return diagonal(precision);
  return space.mean_prior.diagonal + space.mean_design.column_squares(precision, objective_->threads());
}

template <class Solve>
void StepModel::newton_row(Index row, const Slope& slope, const Solve& solve, Vector& target) const {
  const auto& entries = row_entries_[static_cast<std::size_t>(row)];
  const auto size = static_cast<Index>(entries.size());
  Vector g(size);
  for (Index k = 0; k < size; ++k) g(k) = (*slope.gradient)(entries[static_cast<std::size_t>(k)].second);
  const Vector ag = solve(g);
  const Vector ae = solve(Vector::Unit(size, 0));
  const double c = (*slope.entries)(entries.front().second);
  const Vector d = ag - ae * (ag(0) / (c * c + ae(0)));
  if (!d.allFinite()) return;
  for (Index k = 0; k < size; ++k) {
    const Index e = entries[static_cast<std::size_t>(k)].second;
    target(e) = (*slope.entries)(e) + d(k);
  }
}

std::size_t StepModel::block_index(const RootBlock& at) const {
  return static_cast<std::size_t>(&at - objective_->space().pattern.blocks.data());
}

bool StepModel::solve_row(const Matrix& a, Index offset, Index row, const Slope* slope, Vector& target) const {
  const auto& entries = row_entries_[static_cast<std::size_t>(row)];
  const auto size = static_cast<Index>(entries.size());
  Matrix window(size, size);
  for (Index k = 0; k < size; ++k)
    for (Index l = k; l < size; ++l)
      window(l, k) =
          a(entries[static_cast<std::size_t>(l)].first - offset, entries[static_cast<std::size_t>(k)].first - offset);
  const Eigen::LLT<Matrix> factor(window);
  if (factor.info() != Eigen::Success) return false;
  // The diagonal entry is the first of an upper triangular row.
  if (slope) {
    newton_row(
        row, *slope, [&](const Vector& x) -> Vector { return factor.solve(x); }, target);
    return true;
  }
  Vector c = factor.solve(Vector::Unit(size, 0));
  if (!(c(0) > 0.0) || !c.allFinite()) return false;
  c /= std::sqrt(c(0));
  for (Index k = 0; k < size; ++k) target(entries[static_cast<std::size_t>(k)].second) = c(k);
  return true;
}

void StepModel::direct_rows(const Matrix& reversed_factor, const Matrix& a, const Slope* slope, Vector& target) const {
  // A = U U' with U upper triangular is the Cholesky factorisation of A with its order reversed. Rows that are free
  // from the diagonal to the last column are those of U^-1; all others are solved for one by one.
  const RootPattern& p = objective_->space().pattern;
  const Index size = a.rows();
  std::vector<Index> suffix;
  std::vector<Index> others;
  for (Index r = 0; r < p.rows; ++r) {
    const auto& entries = row_entries_[static_cast<std::size_t>(r)];
    if (entries.empty()) continue;
    const bool whole = static_cast<Index>(entries.size()) == size - r && entries.front().first == r;
    (whole ? suffix : others).push_back(r);
  }
  if (slope) {
    // Columns from r on are the first ones of the reversed order: a leading block of the factor.
    parallel_blocks(static_cast<Index>(suffix.size()), 8, objective_->threads(), [&](Index begin, Index end) {
      for (Index k = begin; k < end; ++k) {
        const Index r = suffix[static_cast<std::size_t>(k)];
        const auto leading = reversed_factor.topLeftCorner(size - r, size - r).triangularView<Eigen::Lower>();
        const auto solve = [&](const Vector& x) -> Vector {
          Vector y = x.reverse();
          leading.solveInPlace(y);
          leading.transpose().solveInPlace(y);
          return y.reverse();
        };
        newton_row(r, *slope, solve, target);
      }
    });
  } else if (!suffix.empty()) {
    Matrix columns = Matrix::Zero(size, static_cast<Index>(suffix.size()));
    for (std::size_t k = 0; k < suffix.size(); ++k) columns(size - 1 - suffix[k], static_cast<Index>(k)) = 1.0;
    solve_lower_transposed(reversed_factor, columns);
    for (std::size_t k = 0; k < suffix.size(); ++k)
      for (const auto& [column, entry] : row_entries_[static_cast<std::size_t>(suffix[k])])
        target(entry) = columns(size - 1 - column, static_cast<Index>(k));
  }
  parallel_blocks(static_cast<Index>(others.size()), 8, objective_->threads(), [&](Index begin, Index end) {
    for (Index k = begin; k < end; ++k) (void)solve_row(a, 0, others[static_cast<std::size_t>(k)], slope, target);
  });
}

void StepModel::window_rows(const Vector& precision, const std::vector<Matrix>* grams, const Slope* slope,
                            Vector& target) const {
  const FamilySpace& space = objective_->space();
  objective_->products().for_blocks([&](const RootBlock& at) {
    Matrix a =
        grams ? (*grams)[block_index(at)] : objective_->products().gram(precision, at.column_begin, at.column_end);
    a.diagonal() += space.root_prior.diagonal.segment(at.column_begin, at.column_end - at.column_begin);
    for (Index r = at.row_begin; r < at.row_end; ++r) (void)solve_row(a, at.column_begin, r, slope, target);
  });
}

void StepModel::solve_mean(const Vector& precision, const Vector& diagonal, const Vector& right,
                           FamilyStep& step) const {
  const double other = step.root_decrement;
  const PriorPrecision& prior = objective_->space().mean_prior;
  const Vector inverse = diagonal.cwiseMax(1e-300).cwiseInverse();
  step.mean = inverse.cwiseProduct(right);
  // The root is what the ascent waits for: the diagonal will do.
  if (right.dot(step.mean) <= mean_share * other) return;
  step.eta = Vector::Zero(objective_->rows());
  Vector hp;
  const LinearMap times = [&](const Matrix& p) -> Matrix {
    const Vector x = p.col(0);
    return prior.times(x) + objective_->mean_gram_times(precision, x, hp);
  };
  const LinearMap precondition = [&](const Matrix& r) -> Matrix { return inverse.asDiagonal() * r; };
  const auto follow = [&](const std::vector<Index>&, const Vector& lengths) {
    if (lengths(0) > 0.0) step.eta += lengths(0) * hp;
  };
  step.mean = conjugate_gradients(times, right, {mean_reduction, 0.5 * mean_share * other, mean_steps}, precondition,
                                  {}, follow)
                  .solution;
}

FamilyStep StepModel::step(const FamilyPoint& point, FamilyGradient& gradient) const {
  const RootPattern& p = objective_->space().pattern;
  const bool share = !direct_ && windows_ && (point.d_variance.array() <= 0.0).all();
  if (!share) {
    gradient = objective_->gradient(point);
    return step(point, gradient, nullptr);
  }
  // sum_n 2 e_v (C h) h' = -C (H' diag(tau) H), row by row within the window of its block; purely diagonal rows need
  // the diagonal of that matrix only, most of which the windows hold as well.
  const Vector precision = positive_precision(point);
  std::vector<Matrix> grams(p.blocks.size());
  Vector root = Vector::Zero(p.entries());
  constexpr double unknown = -1.0;
  Vector squares = Vector::Constant(p.columns, unknown);
  objective_->products().for_blocks([&](const RootBlock& at) {
    Matrix& gram = grams[block_index(at)];
    gram = objective_->products().gram(precision, at.column_begin, at.column_end);
    mirror_lower(gram);
    p.add_block(at, -times(p.block(at, point.at.root.entries), gram), root);
  });
  for (const RootBlock& at : p.blocks)
    squares.segment(at.column_begin, at.column_end - at.column_begin) = grams[block_index(at)].diagonal();
  if ((squares.array() == unknown).any()) squares = objective_->products().squares(precision);
  for (Index j = 0; j < p.columns; ++j)
    if (p.diagonal_row[static_cast<std::size_t>(j)])
      root(p.diagonal(j)) = -squares(j) * point.at.root.entries(p.diagonal(j));
  gradient = objective_->gradient(point, &root);
  gradient.squares = -squares;
  return step(point, gradient, &grams);
}

Vector StepModel::diagonal_target(const FamilyPoint& point, const FamilyGradient& gradient, const Vector& a_diagonal,
                                  FamilyStep& step) const {
  const RootPattern& p = objective_->space().pattern;
  const Vector& entries = point.at.root.entries;
  // The curvature of the entropy: that of log C_rr, or that of 1/2 log|V| in d_j, (V^-1)_jj (2 d_j^2 (V^-1)_jj - 1),
  // where it is concave. d_j = 0 may be the best, and is reached only without the barrier of a logarithm.
  Vector entropy_gradient;
  if (!p.triangular) (void)objective_->entropy(entries, &entropy_gradient);
  const auto entropy_curvature = [&](Index e) {
    const double c = entries(e);
    if (p.triangular) return 1.0 / (c * c);
    const double inverse = entropy_gradient(e) / c;
    return inverse * std::max(0.0, 2.0 * c * c * inverse - 1.0);
  };
  Vector target = entries;
  for (Index j = 0; j < p.columns; ++j)
    for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
      const double barrier = e == p.diagonal(j) ? entropy_curvature(e) : 0.0;
      target(e) += gradient.root(e) / std::max(a_diagonal(j) + barrier, 1e-300);
    }
  if (p.triangular) return target;
  for (Index j = 0; j < p.columns; ++j) {
    const double floor = smallest_deviation / std::sqrt(std::max(a_diagonal(j), 1e-300));
    if (target(p.diagonal(j)) > floor) continue;
    target(p.diagonal(j)) = floor;
    step.floored.push_back(p.diagonal(j));
  }
  return target;
}

void StepModel::direct_step(const Vector& precision, const FamilyGradient& gradient, const Slope* slope, Vector& target,
                            FamilyStep& step) const {
  const FamilySpace& space = objective_->space();
  const RootPattern& p = space.pattern;
  // The columns that belong to the triangle: all but the last of a subspace, which is purely diagonal anyway.
  const Index size = space.shared ? p.columns : p.columns - 1;
  Matrix a = objective_->products().gram(precision, 0, p.columns).topLeftCorner(size, size).eval();
  if (space.root_prior.dense.size() > 0)
    a += space.root_prior.dense;
  else
    a.diagonal() += space.root_prior.diagonal.head(size);
  mirror_lower(a);
  Matrix reversed = a.reverse();
  double ridge = 0.0;
  for (int tries = 0; tries < most_ridges && !cholesky(reversed); ++tries) {
    // Only without a Gaussian factor: directions in which no site has curvature here.
    ridge = ridge > 0.0 ? 10.0 * ridge : smallest_ridge * std::max(a.diagonal().maxCoeff(), 1e-300);
    reversed = a.reverse();
    reversed.diagonal().array() += ridge;
  }
  if (ridge > 0.0) {
    a.diagonal().array() += ridge;
    ++step.jittered;
  }
  if (p.triangular) direct_rows(reversed, a, slope, target);
  if (!space.shared) return;
  Vector right = gradient.mean.reverse();
  solve_lower(reversed, right);
  solve_lower_transposed(reversed, right);
  step.mean = right.reverse();
}

void StepModel::diagonal_rows(const Vector& site_squares, const Slope* slope, const Vector& entries,
                              Vector& target) const {
  const FamilySpace& space = objective_->space();
  const RootPattern& p = space.pattern;
  for (Index j = 0; j < p.columns; ++j) {
    if (!p.diagonal_row[static_cast<std::size_t>(j)]) continue;
    const Index e = p.diagonal(j);
    const double omega = space.multiplicity(j);
    if (!(omega > 0.0)) {
      target(e) = entries(e);
      continue;
    }
    const double a = omega * space.root_prior.diagonal(j) + site_squares(j);
    if (slope) {
      target(e) = entries(e) + (*slope->gradient)(e) / (a + omega / (entries(e) * entries(e)));
      continue;
    }
    const double best = a > 0.0 ? std::sqrt(omega / a) : largest_change * entries(e);
    target(e) = std::clamp(best, entries(e) / largest_change, entries(e) * largest_change);
  }
}

FamilyStep StepModel::step(const FamilyPoint& point, const FamilyGradient& gradient,
                           const std::vector<Matrix>* grams) const {
  const FamilySpace& space = objective_->space();
  const RootPattern& p = space.pattern;
  const Vector precision = positive_precision(point);
  const Vector& entries = point.at.root.entries;
  const bool negative = !(point.d_variance.array() <= 0.0).all();
  const Slope newton{&entries, &gradient.root};
  const Slope* slope = negative ? &newton : nullptr;
  // The gradient has computed them already, unless a negative precision was replaced.
  const bool at_hand = gradient.squares.size() > 0 && !negative;
  const Vector site_squares = at_hand ? Vector(-gradient.squares) : objective_->products().squares(precision);
  const Vector a_diagonal = space.root_prior.diagonal + site_squares;

  FamilyStep step;
  Vector target = diagonal_target(point, gradient, a_diagonal, step);
  if (direct_)
    direct_step(precision, gradient, slope, target, step);
  else if (windows_)
    window_rows(precision, grams, slope, target);
  if (p.triangular) diagonal_rows(site_squares, slope, entries, target);
  step.root = target - entries;
  step.root_decrement = gradient.root.dot(step.root);
  if (step.mean.size() == 0)
    solve_mean(precision, space.shared ? a_diagonal : mean_diagonal(precision), gradient.mean, step);
  step.mean_decrement = gradient.mean.dot(step.mean);
  return step;
}

}  // namespace gaussmith
