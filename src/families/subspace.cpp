#include "families/subspace.hpp"

#include "families/warm_start.hpp"
#include "gaussmith/random.hpp"
#include "linalg/dense.hpp"
#include "linalg/lanczos.hpp"
#include "linalg/qr.hpp"
#include "linalg/symmetric_eigen.hpp"

#include <cmath>

namespace gaussmith {

namespace {

/// Relative rise of the bound below which another basis is not worth its price.
constexpr double worthwhile = 1e-13;

/// The rows E h_n and the length of the rest of h_n: what C and c act on.
Matrix projected_design(const FamilyObjective& objective, const Matrix& basis) {
  const Index k = basis.rows();
  Matrix out(objective.rows(), k + 1);
  const Design& rows = objective.space().mean_design;
  out.leftCols(k) = rows.times(Matrix(basis.transpose()), objective.threads());
  const Vector squares = rows.row_squares(Vector::Ones(basis.cols()), objective.threads());
  // Nothing is left of the whole space but rounding.
  if (k == basis.cols())
    out.col(k).setZero();
  else
    out.col(k) = (squares - out.leftCols(k).rowwise().squaredNorm()).cwiseMax(0.0).cwiseSqrt();
  return out;
}

/// The space of (m, C, c) for one basis.
FamilySpace subspace_space(const FamilySpace& whole, const Design& rows, Index size) {
  FamilySpace space;
  space.mean_design = whole.mean_design;
  space.root_design = rows;
  space.shared = false;
  space.centre = whole.centre;
  space.mean_prior = whole.mean_prior;
  const double precision = whole.mean_prior.diagonal.size() > 0 ? whole.mean_prior.diagonal(0) : 0.0;
  space.root_prior.diagonal = Vector::Constant(size + 1, precision);
  space.pattern = make_pattern({FamilyKind::subspace, size}, whole.dimension());
  space.multiplicity = Vector::Ones(size + 1);
  space.multiplicity(size) = static_cast<double>(whole.dimension() - size);
  space.constant = whole.constant;
  return space;
}

}  // namespace

Matrix subspace_basis(const FamilyObjective& mean_objective, const Vector& precision, Index size, std::uint64_t seed) {
  const Index d = mean_objective.space().dimension();
  const Index steps = std::min(d, 3 * size + 20);
  Random random(seed);
  const auto draw = [&] {
    Vector v(d);
    for (Index i = 0; i < d; ++i) v(i) = random.normal();
    return v;
  };
  const auto a_times = [&](const Vector& v) -> Vector {
    const Vector hv = mean_objective.mean_rows_times(v);
    return mean_objective.space().mean_prior.times(v) +
           mean_objective.mean_rows_transposed_times(precision.cwiseProduct(hv));
  };
  const LanczosBasis krylov = lanczos(a_times, draw(), steps, draw);
  const SymmetricEigen eigen = symmetric_eigen(krylov.projected);
  const Vector& values = eigen.values;
  // trace of A: its diagonal is at hand.
  const double trace = StepModel(mean_objective).mean_diagonal(precision).sum();
  // a directions from below, size - a from above. With the best c the bound is -1/2 sum log(value) - L/2 log(mean
  // rest).
  const auto rest = static_cast<double>(d - size);
  Index best = 0;
  double best_value = -std::numeric_limits<double>::infinity();
  for (Index a = 0; a <= size; ++a) {
    double sum = 0.0;
    double logs = 0.0;
    for (Index k = 0; k < size; ++k) {
      const double value = std::max(values(k < a ? k : steps - 1 - (k - a)), 1e-300);
      sum += value;
      logs += std::log(value);
    }
    const double left = rest > 0.0 ? rest * std::log(std::max(trace - sum, 1e-300) / rest) : 0.0;
    if (-logs - left > best_value) {
      best_value = -logs - left;
      best = a;
    }
  }
  Matrix chosen(steps, size);
  for (Index k = 0; k < size; ++k) chosen.col(k) = eigen.vectors.col(k < best ? k : steps - 1 - (k - best));
  return times(krylov.basis, chosen).transpose();
}

AscentResult fit_subspace(const ModelSpace& model_space, const Model& model, Index size, const FamilyOptions& options,
                          const AscentOptions& ascent, int threads, Matrix& basis, bool& warm) {
  // An objective over the whole space serves for products with the design; its root is never used.
  FamilySpace whole = model_space.space;
  whole.pattern = make_pattern({FamilyKind::diagonal}, whole.dimension());
  whole.multiplicity = Vector::Ones(whole.dimension());
  const FamilyObjective mean_objective(whole, model, threads);
  FamilyPoint start;
  const Vector unit = Vector::Ones(mean_objective.rows());
  (void)mean_objective.expectation(whole.centre, unit, start.d_mean, start.d_variance);
  // Equal precisions first: the principal components of the design.
  const Vector precision = Vector::Constant(mean_objective.rows(), positive_precision(start).mean());
  basis = subspace_basis(mean_objective, precision, size, options.seed);

  const auto fit = [&](const Matrix& at_basis, const AscentResult* from) {
    const Design rows = projected_design(mean_objective, at_basis);
    const FamilySpace space = subspace_space(whole, rows, size);
    const FamilyObjective objective(space, model, threads);
    StartingPoint begin{from ? from->point.at.mean : Vector::Zero(whole.dimension()), starting_root(objective)};
    if (!from)
      if (auto earlier = warm_starting_point(objective, model_space, options.warm, begin)) {
        begin = std::move(*earlier);
        warm = true;
      }
    return options.ascent(objective, std::move(begin.mean), std::move(begin.root), ascent);
  };
  AscentResult result = fit(basis, nullptr);
  for (int round = 0; round < options.rotations && result.report.converged(); ++round) {
    const Matrix next_basis = subspace_basis(mean_objective, positive_precision(result.point), size, options.seed);
    AscentResult next = fit(next_basis, &result);
    next.count_earlier(result, true);
    const double rise = next.point.value - result.point.value;
    if (rise > 0.0) {
      result = std::move(next);
      basis = next_basis;
    }
    if (rise < worthwhile * (1.0 + std::abs(result.point.value))) break;
  }
  return result;
}

}  // namespace gaussmith
