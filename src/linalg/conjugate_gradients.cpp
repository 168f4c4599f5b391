#include "linalg/conjugate_gradients.hpp"

#include <algorithm>
#include <utility>

namespace gaussmith {

namespace {

Vector column_products(const Matrix& a, const Matrix& b) {
  Vector out(a.cols());
  for (Index j = 0; j < a.cols(); ++j) out(j) = a.col(j).dot(b.col(j));
  return out;
}

/// The columns of `kept` alone, in place.
void keep_columns(const std::vector<Index>& kept, Matrix& m) {
  for (std::size_t j = 0; j < kept.size(); ++j)
    if (kept[j] != static_cast<Index>(j)) m.col(static_cast<Index>(j)) = m.col(kept[j]);
  m.conservativeResize(Eigen::NoChange, static_cast<Index>(kept.size()));
}

}  // namespace

ConjugateGradientResult conjugate_gradients(const LinearMap& a, const Matrix& b,
                                            const ConjugateGradientOptions& options, const LinearMap& preconditioner,
                                            Matrix start, const ConjugateGradientStep& stepped) {
  const auto precondition = [&](const Matrix& x) { return preconditioner ? preconditioner(x) : x; };
  ConjugateGradientResult result;
  Matrix r = b;
  Matrix z = precondition(r);
  Vector rz = column_products(r, z);
  const Vector goal = (options.reduction * options.reduction * rz).cwiseMax(options.residual_square);
  if (start.size() > 0) {
    r -= a(start);
    z = precondition(r);
    rz = column_products(r, z);
    result.solution = std::move(start);
  } else {
    result.solution = Matrix::Zero(b.rows(), b.cols());
  }
  result.residual_squares = rz;

  // r, p and rz hold the columns that go on; `active` says which these are.
  std::vector<Index> active;
  for (Index j = 0; j < b.cols(); ++j) active.push_back(j);
  const auto keep = [&](const auto& goes_on, Matrix& p) {
    std::vector<Index> kept;
    std::vector<Index> names;
    for (std::size_t j = 0; j < active.size(); ++j)
      if (goes_on(static_cast<Index>(j))) {
        kept.push_back(static_cast<Index>(j));
        names.push_back(active[j]);
      }
    if (kept.size() == active.size()) return;
    keep_columns(kept, r);
    keep_columns(kept, p);
    rz = Vector(rz(kept));
    active = std::move(names);
  };
  const auto above_goal = [&](Index j) {
    if (rz(j) < 0.0) result.end = ConjugateGradientEnd::not_positive;
    // A NaN goes on, to be found where the curvature is tested.
    return !(rz(j) <= goal(active[static_cast<std::size_t>(j)]));
  };

  Matrix p = std::move(z);
  keep(above_goal, p);
  while (!active.empty() && result.iterations < options.max_iterations) {
    Matrix ap = a(p);
    ++result.iterations;
    const Vector curvature = column_products(p, ap);
    Vector lengths(rz.size());
    for (Index j = 0; j < lengths.size(); ++j) {
      const bool usable = curvature(j) > 0.0;
      if (!usable) result.end = ConjugateGradientEnd::not_positive;
      lengths(j) = usable ? rz(j) / curvature(j) : 0.0;
      if (!usable) continue;
      result.solution.col(active[static_cast<std::size_t>(j)]) += lengths(j) * p.col(j);
      r.col(j) -= lengths(j) * ap.col(j);
    }
    if (stepped) stepped(active, lengths);
    z = precondition(r);
    const Vector next = column_products(r, z);
    for (Index j = 0; j < next.size(); ++j) {
      p.col(j) = z.col(j) + (next(j) / rz(j)) * p.col(j);
      rz(j) = next(j);
      result.residual_squares(active[static_cast<std::size_t>(j)]) = next(j);
    }
    keep([&](Index j) { return lengths(j) > 0.0 && above_goal(j); }, p);
  }
  if (!active.empty() && result.end == ConjugateGradientEnd::converged)
    result.end = ConjugateGradientEnd::iteration_limit;
  return result;
}

}  // namespace gaussmith
