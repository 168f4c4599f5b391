// EP sweeps against the LAPACK and BLAS calls they cannot avoid.

#include "gaussian/core.hpp"
#include "gaussian/sequential_gaussian.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

#include <cblas.h>

namespace gaussmith::bench {
namespace {

constexpr Index input_columns = 10;

Model classes(Index n, bool probit) {
  Model model = classification(n, input_columns);
  if (probit) model.sites = {observe("bernoulli-probit", model.sites[0]->responses())};
  return model;
}

/// Best time of a whole inference less that of one that stops after the first sweep, by the sweeps between them.
/// Arguments: N, threads, probit. Baseline: one DPOTRF and one DTRTRI.
void ep_parallel_sweep(benchmark::State& state) {
  const Model model = classes(state.range(0), state.range(2) != 0);
  const int threads = static_cast<int>(state.range(1));
  const BlasThreads blas(threads);
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Posterior q = infer(model, Ep{.mode = EpMode::parallel}, {.threads = threads});
  Matrix b;
  process.kernel->gram(process.inputs, b, threads);
  const Vector root = q.site_approximation().precision.cwiseSqrt();
  b = root.asDiagonal() * b * root.asDiagonal();
  b.diagonal().array() += 1.0;
  const int sweeps = q.report().iterations - 1;
  Matrix work;
  double best_short = std::numeric_limits<double>::infinity();
  double best_long = best_short;
  double best_baseline = best_short;
  for (auto _ : state) {
    const double one_sweep = seconds_of([&] {
      benchmark::DoNotOptimize(
          infer(model, Ep{.mode = EpMode::parallel, .max_iterations = 1}, {.threads = threads}).log_evidence().value);
    });
    const double all = seconds_of([&] {
      benchmark::DoNotOptimize(infer(model, Ep{.mode = EpMode::parallel}, {.threads = threads}).log_evidence().value);
    });
    work = b;
    best_baseline = std::min(best_baseline, seconds_of([&] {
                               benchmark::DoNotOptimize(cholesky(work));
                               invert_lower(work);
                             }));
    best_short = std::min(best_short, one_sweep);
    best_long = std::min(best_long, all);
    state.SetIterationTime(all);
  }
  const double best_sweep = (best_long - best_short) / sweeps;
  state.counters["best_ms"] = 1e3 * best_sweep;
  state.counters["baseline_ms"] = 1e3 * best_baseline;
  state.counters["ratio"] = best_sweep / best_baseline;
  state.counters["sweeps"] = q.report().iterations;
}
BENCHMARK(ep_parallel_sweep)
    ->ArgsProduct({{500, 1000, 2000}, {1, 2}, {0, 1}})
    ->ArgNames({"N", "threads", "probit"})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1.0);

/// Arguments: N. A sequential sweep with its tilted moments, its factorisation and its certificate. Baseline: N
/// rank-one updates DSYR of an N x N matrix.
void ep_sequential_sweep(benchmark::State& state) {
  const Index n = state.range(0);
  const Model model = classes(n, false);
  const BlasThreads blas(1);
  const Posterior start = infer(model, Ep{.mode = EpMode::parallel, .max_iterations = 2});
  Matrix whole = Matrix::Identity(n, n);
  const Vector x = Vector::Constant(n, 1e-3);
  double best_short = std::numeric_limits<double>::infinity();
  double best_long = best_short;
  double best_baseline = best_short;
  for (auto _ : state) {
    const double none = seconds_of([&] {
      benchmark::DoNotOptimize(
          infer(model, Ep{.mode = EpMode::sequential, .max_iterations = 1}, {.warm_start = &start}).log_evidence());
    });
    const double more = seconds_of([&] {
      benchmark::DoNotOptimize(
          infer(model, Ep{.mode = EpMode::sequential, .max_iterations = 3}, {.warm_start = &start}).log_evidence());
    });
    best_baseline = std::min(best_baseline, seconds_of([&] {
                               for (Index i = 0; i < n; ++i)
                                 cblas_dsyr(CblasColMajor, CblasLower, static_cast<int>(n), -1e-3, x.data(), 1,
                                            whole.data(), static_cast<int>(n));
                             }));
    best_short = std::min(best_short, none);
    best_long = std::min(best_long, more);
    state.SetIterationTime(more);
  }
  const double best_sweep = 0.5 * (best_long - best_short);
  state.counters["best_ms"] = 1e3 * best_sweep;
  state.counters["baseline_ms"] = 1e3 * best_baseline;
  state.counters["ratio"] = best_sweep / best_baseline;
}
BENCHMARK(ep_sequential_sweep)
    ->Arg(500)
    ->Arg(1000)
    ->Arg(2000)
    ->ArgName("N")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->MinTime(1.0);

/// Growth of a whole inference: N for processes, N and D for regression with D < N.
void ep_growth_process(benchmark::State& state) {
  const Model model = classes(state.range(0), false);
  for (auto _ : state) benchmark::DoNotOptimize(infer(model, Ep{}).log_evidence().value);
}
BENCHMARK(ep_growth_process)
    ->ArgName("N")
    ->RangeMultiplier(2)
    ->Range(250, 2000)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.5);

void ep_growth_regression(benchmark::State& state) {
  const Model model = regression(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(infer(model, Ep{}).log_evidence().value);
}
BENCHMARK(ep_growth_regression)
    ->Args({2000, 50})
    ->Args({4000, 50})
    ->Args({8000, 50})
    ->Args({2000, 100})
    ->Args({2000, 200})
    ->ArgNames({"N", "D"})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.5);

}  // namespace
}  // namespace gaussmith::bench
