// The KL bound against the LAPACK calls it cannot avoid, and against Laplace on the same problem.

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

namespace gaussmith::bench {
namespace {

constexpr Index input_columns = 10;
Kl to_six_digits() {
  Kl options;
  options.tolerance = 1e-6;
  return options;
}

void describe(benchmark::State& state, const Posterior& q) {
  state.counters["factorisations"] = q.report().iterations;
  state.counters["residual"] = q.report().residual;
}

/// Logistic regression, arguments N, D, threads. Baseline: one DSYRK, one DPOTRF and one DTRSM of these sizes.
void kl_regression(benchmark::State& state) {
  const Model model = regression(state.range(0), state.range(1));
  const int threads = static_cast<int>(state.range(2));
  const BlasThreads blas(threads);
  const Matrix rows = model.design.entries().dense->transpose();
  Matrix solved;
  paired(
      state,
      [&] { benchmark::DoNotOptimize(infer(model, to_six_digits(), {.threads = threads}).log_evidence().value); },
      [&] { solved = rows; },
      [&] {
        Matrix a = Matrix::Identity(rows.rows(), rows.rows());
        add_outer(0.2, rows, 1.0, a);
        benchmark::DoNotOptimize(cholesky(a));
        solve_lower(a, solved);
      });
  describe(state, infer(model, to_six_digits(), {.threads = threads}));
}
BENCHMARK(kl_regression)
    ->ArgNames({"N", "D", "threads"})
    ->Args({1250, 250, 2})
    ->Args({5000, 1000, 1})
    ->Args({5000, 1000, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

/// Baseline: the Laplace approximation of the same model.
void against_laplace(benchmark::State& state, const Model& model, int threads) {
  paired(
      state,
      [&] { benchmark::DoNotOptimize(infer(model, to_six_digits(), {.threads = threads}).log_evidence().value); },
      [] {}, [&] { benchmark::DoNotOptimize(infer(model, Laplace{}, {.threads = threads}).log_evidence().value); });
  describe(state, infer(model, to_six_digits(), {.threads = threads}));
}

void kl_regression_against_laplace(benchmark::State& state) {
  against_laplace(state, regression(state.range(0), state.range(1)), static_cast<int>(state.range(2)));
}
BENCHMARK(kl_regression_against_laplace)
    ->ArgNames({"N", "D", "threads"})
    ->Args({1250, 250, 2})
    ->Args({5000, 1000, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

void kl_process_against_laplace(benchmark::State& state) {
  against_laplace(state, classification(state.range(0), input_columns), static_cast<int>(state.range(1)));
}
BENCHMARK(kl_process_against_laplace)
    ->ArgNames({"N", "threads"})
    ->ArgsProduct({{500, 1000, 2000}, {1, 2}})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace gaussmith::bench
