// Laplace for Poisson counts on a lattice under a Besag field, against the factorisations that it cannot avoid.

#include "gaussian/sparse_core.hpp"
#include "gaussmith/infer.hpp"
#include "gaussmith/random.hpp"
#include "model/prior.hpp"
#include "paired.hpp"

#include <cmath>

namespace gaussmith::bench {
namespace {

Model lattice(Index side) {
  IntrinsicField field{FieldKind::besag, side * side, 4.0, {}};
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      if (j + 1 < side) field.edges.emplace_back(i * side + j, i * side + j + 1);
      if (i + 1 < side) field.edges.emplace_back(i * side + j, (i + 1) * side + j);
    }
  Random random(1);
  Vector y(side * side);
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      const double angle = 6.0 / static_cast<double>(side);
      const double level =
          3.0 * std::exp(std::sin(angle * static_cast<double>(i)) * std::cos(angle * static_cast<double>(j)));
      y(i * side + j) = std::max(0.0, std::round(level + std::sqrt(level) * random.normal()));
    }
  return {.prior = std::move(field), .offset = Vector::Constant(y.size(), 1.1), .sites = {observe("poisson", y)}};
}

/// Argument: the side. Baseline: one factorisation by CHOLMOD a Newton step and one selected inverse.
void lattice_laplace(benchmark::State& state) {
  const Model model = lattice(state.range(0));
  const KnownPrecision prior = *prior_precision(model.prior);
  SparseMatrix rows(model.rows(), model.rows());
  rows.setIdentity();
  SparseCholesky factor(gram_pattern(prior.precision, &rows));
  const SymmetricPattern& pattern = factor.pattern();
  std::vector<double> entries;
  for (Index j = 0; j < pattern.size; ++j)
    for (int k = pattern.begin[static_cast<std::size_t>(j)]; k < pattern.begin[static_cast<std::size_t>(j) + 1]; ++k) {
      const int i = pattern.row[static_cast<std::size_t>(k)];
      entries.push_back(prior.precision.coeff(i, j) + (i == j ? 3.0 : 0.0));
    }
  const int steps = infer(model, Laplace{}).report().iterations;
  paired(
      state, [&] { benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value); }, [] {},
      [&] {
        for (int step = 0; step < steps; ++step) benchmark::DoNotOptimize(factor.factorise(entries));
        benchmark::DoNotOptimize(factor.selected_inverse().data());
      });
  state.counters["steps"] = steps;
  state.counters["factor_entries"] = factor.cost().factor_entries;
}
BENCHMARK(lattice_laplace)
    ->Arg(100)
    ->Arg(300)
    ->ArgName("side")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

}  // namespace
}  // namespace gaussmith::bench
