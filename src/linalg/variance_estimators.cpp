#include "linalg/variance_estimators.hpp"

#include "base/random_choice.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "linalg/krylov_root.hpp"
#include "linalg/variance_bars.hpp"
#include "linalg/variance_solver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Standard errors of a mean of few squares, which are skew.
constexpr double checked_standard_errors = 2.5;
/// The error of a variance beside the reduction of the residual of its solve.
constexpr double solve_error = 10.0;
/// Draws and signs are only unbiased given a root that knows nothing of them.
constexpr std::uint64_t krylov_stream = 0x6b72796c6f76;

/// W = L^-T with A = L L', from products with unit vectors; no columns where A is not positive definite.
Matrix exact_root(const PrecisionSystem& system) {
  const Index size = system.dimension;
  Matrix a(size, size);
  for (Index begin = 0; begin < size; begin += solved_at_once) {
    const Index count = std::min(solved_at_once, size - begin);
    Matrix units = Matrix::Zero(size, count);
    for (Index k = 0; k < count; ++k) units(begin + k, k) = 1.0;
    a.middleCols(begin, count) = system.times(units);
  }
  if (!cholesky(a)) return {size, 0};
  invert_lower(a);
  return a.triangularView<Eigen::Lower>().toDenseMatrix().transpose();
}

/// A bar on the root-mean-square of (v - known) / v over all items, from v = b'A^-1 b at some; `right` gives B for
/// them.
double checked_error(VarianceSolver& solver, const Vector& known, int checks, std::uint64_t seed,
                     const std::function<Matrix(const std::vector<Index>&)>& right) {
  const std::vector<Index> items = random_subset(known.size(), checks, seed);
  std::vector<double> squares;
  for (std::size_t begin = 0; begin < items.size(); begin += solved_at_once) {
    const std::size_t end = std::min(items.size(), begin + solved_at_once);
    const std::vector<Index> some(items.begin() + static_cast<Index>(begin), items.begin() + static_cast<Index>(end));
    const Matrix b = right(some);
    const Matrix x = solver.solve(b, solver.known(b));
    for (std::size_t k = 0; k < some.size(); ++k) {
      const double truth = b.col(static_cast<Index>(k)).dot(x.col(static_cast<Index>(k)));
      if (!(truth > 0.0)) continue;
      const double shortfall = std::max(0.0, 1.0 - known(some[k]) / truth);
      squares.push_back(shortfall * shortfall);
    }
  }
  if (squares.empty()) return 0.0;
  const Eigen::Map<const Vector> all(squares.data(), static_cast<Index>(squares.size()));
  const double mean = all.mean();
  if (static_cast<Index>(items.size()) == known.size()) return std::sqrt(mean);
  const double count = std::max(2.0, static_cast<double>(squares.size()));
  const double deviation = std::sqrt((all.array() - mean).square().sum() / (count - 1.0) / count);
  return std::min(1.0, std::sqrt(mean + checked_standard_errors * deviation));
}

}  // namespace

void check_known(VarianceSolver& solver, const LanczosVariances& method, const VarianceOptions& options,
                 VarianceEstimate& out) {
  const PrecisionSystem& system = solver.system();
  const auto units = [](Index size, const std::vector<Index>& items) {
    Matrix out_units = Matrix::Zero(size, static_cast<Index>(items.size()));
    for (std::size_t k = 0; k < items.size(); ++k) out_units(items[k], static_cast<Index>(k)) = 1.0;
    return out_units;
  };
  if (options.rows)
    out.rows_error = checked_error(solver, out.rows, method.checks, options.seed, [&](const std::vector<Index>& items) {
      return system.rows_transposed_times(units(system.rows, items));
    });
  if (options.weights)
    out.weights_error = checked_error(solver, out.weights, method.checks, options.seed,
                                      [&](const std::vector<Index>& items) { return units(system.dimension, items); });
}

VarianceEstimate estimate_variances(const PrecisionSystem& system, const VarianceMethod& method,
                                    const VarianceOptions& options) {
  VarianceEstimate out;
  const auto set_known = [&](const VarianceSolver& solver) {
    if (options.rows) out.rows = solver.known_rows();
    if (options.weights) out.weights = solver.known_weights();
  };
  const auto krylov = [&](int steps) {
    const Index most = std::min<Index>(std::max(steps, 0), system.dimension);
    out.products += static_cast<int>(most);
    return VarianceSolver(system, options, krylov_root(system, most, options.seed ^ krylov_stream), out);
  };
  if (std::holds_alternative<ExactVariances>(method)) {
    Matrix root = exact_root(system);
    if (root.cols() < system.dimension) out.solves = ConjugateGradientEnd::not_positive;
    const VarianceSolver solver(system, options, std::move(root), out);
    set_known(solver);
    out.root = solver.root();
    out.kind = VarianceKind::exact;
    out.products = static_cast<int>((system.dimension + solved_at_once - 1) / solved_at_once);
  } else if (const auto* const lanczos = std::get_if<LanczosVariances>(&method)) {
    if (lanczos->steps < 1 || lanczos->checks < 2)
      throw InvalidOption(fmt::format("variances by Lanczos: {} steps and {} checks; at least 1 and 2 are needed",
                                      lanczos->steps, lanczos->checks));
    VarianceSolver solver =
        options.start ? VarianceSolver(system, options, *options.start, out) : krylov(lanczos->steps);
    set_known(solver);
    out.kind = VarianceKind::from_below;
    if (options.errors) check_known(solver, *lanczos, options, out);
    out.root = solver.root();
  } else if (const auto* const probed = std::get_if<ProbedVariances>(&method)) {
    VarianceSolver solver = krylov(probed->control_steps);
    estimate_by_probes(solver, *probed, options, out);
    out.root = solver.root();
  } else {
    const auto& sampled = std::get<SampledVariances>(method);
    VarianceSolver solver = krylov(sampled.control_steps);
    if (sampled.control_steps == 0)
      estimate_by_conditioned_draws(solver, sampled, options, out);
    else
      estimate_by_draws(solver, sampled, options, out);
  }
  if (out.kind != VarianceKind::exact)
    for (double* const error : {&out.rows_error, &out.weights_error})
      *error = std::hypot(*error, solve_error * options.reduction);
  return out;
}

}  // namespace gaussmith
