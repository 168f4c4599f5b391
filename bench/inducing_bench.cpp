// Processes seen through inducing variables: time in units of the LAPACK calls they cannot avoid, and its growth with
// N.

#include "gaussmith/inducing.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

namespace gaussmith::bench {
namespace {

/// Fit and gradient, arguments N, M, threads. Baseline: one DSYRK and one DTRSM of these sizes, what a factorisation
/// and its variances take. `seconds` over N is the growth: log(t2 / t1) / log(N2 / N1).
void inducing_fit(benchmark::State& state) {
  const Index n = state.range(0);
  const Index m = state.range(1);
  const int threads = static_cast<int>(state.range(2));
  const BlasThreads blas(threads);
  const Model model =
      choose_inducing(classification(n, 4), {.count = m, .select = InducingChoice::random}, {.threads = threads}).model;
  const Matrix rows = Matrix::Constant(m, n, 0.01);
  Matrix solved;
  paired(
      state,
      [&] {
        const Posterior q = infer(model, Kl{.tolerance = 1e-6}, {.threads = threads});
        benchmark::DoNotOptimize(q.gradient());
      },
      [&] { solved = rows; },
      [&] {
        Matrix a = Matrix::Identity(m, m);
        add_outer(1.0, rows, 1.0, a);
        benchmark::DoNotOptimize(cholesky(a));
        solve_lower(a, solved);
      });
  state.counters["factorisations"] = infer(model, Kl{.tolerance = 1e-6}, {.threads = threads}).report().iterations;
}
BENCHMARK(inducing_fit)
    ->ArgNames({"N", "M", "threads"})
    ->Args({1000, 200, 2})
    ->Args({3000, 200, 2})
    ->Args({10000, 200, 2})
    ->Args({50000, 200, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);

/// Classes: fit and gradient, arguments N, C, M, threads. Baseline: two products of these sizes, N M^2 flops each, that
/// a step cannot avoid where functions are independent. Growth over N as above.
void inducing_classes_fit(benchmark::State& state) {
  const Index n = state.range(0);
  const Index m = state.range(2);
  const int threads = static_cast<int>(state.range(3));
  const BlasThreads blas(threads);
  const Model model = choose_inducing(classes(n, state.range(1), "multinomial-logit"),
                                      {.count = m, .select = InducingChoice::random}, {.threads = threads})
                          .model;
  const Matrix rows = Matrix::Constant(m, n, 0.01);
  int steps = 0;
  paired(
      state,
      [&] {
        const Posterior q = infer(model, Kl{.tolerance = 1e-6}, {.threads = threads});
        benchmark::DoNotOptimize(q.gradient());
        steps = q.report().iterations;
      },
      [&] {},
      [&] {
        Matrix a = Matrix::Identity(m, m);
        add_outer(1.0, rows, 1.0, a);
        add_outer(1.0, rows, 1.0, a);
        benchmark::DoNotOptimize(a);
      });
  state.counters["steps"] = steps;
}
BENCHMARK(inducing_classes_fit)
    ->ArgNames({"N", "C", "M", "threads"})
    ->Args({1000, 5, 200, 2})
    ->Args({5000, 5, 200, 2})
    ->Args({50000, 5, 200, 2})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace gaussmith::bench
