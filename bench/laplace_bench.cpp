// Laplace and its evidence gradient against the LAPACK calls they cannot avoid.

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

namespace gaussmith::bench {
namespace {

constexpr Index input_columns = 10;

/// B = I + T^1/2 K T^1/2 at the mode: what every Newton step factorises.
Matrix newton_matrix(const Posterior& q, const Matrix& k) {
  const Vector root = q.site_approximation().precision.cwiseSqrt();
  Matrix b = root.asDiagonal() * k * root.asDiagonal();
  b.diagonal().array() += 1.0;
  return b;
}

/// Arguments: N, threads. Baseline: kernel matrix, one DPOTRF a Newton step, one DTRTRI.
void laplace(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const int threads = static_cast<int>(state.range(1));
  const BlasThreads blas(threads);
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Posterior q = infer(model, Laplace{}, {.threads = threads});
  Matrix k;
  process.kernel->gram(process.inputs, k, threads);
  const Matrix b = newton_matrix(q, k);
  std::vector<Matrix> work(static_cast<std::size_t>(q.report().iterations));
  paired(
      state, [&] { benchmark::DoNotOptimize(infer(model, Laplace{}, {.threads = threads}).log_evidence().value); },
      [&] { std::fill(work.begin(), work.end(), b); },
      [&] {
        process.kernel->gram(process.inputs, k, threads);
        for (Matrix& w : work) benchmark::DoNotOptimize(cholesky(w));
        invert_lower(work.back());
      });
  state.counters["steps"] = q.report().iterations;
}

/// Arguments: N, threads. All ten length-scales and the signal; baseline: one DTRTRI.
void evidence_gradient(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const int threads = static_cast<int>(state.range(1));
  const BlasThreads blas(threads);
  const auto& process = std::get<GaussianProcess>(model.prior);
  const Posterior q = infer(model, Laplace{}, {.threads = threads});
  Matrix k;
  process.kernel->gram(process.inputs, k, threads);
  Matrix lower = newton_matrix(q, k);
  if (!cholesky(lower)) throw std::logic_error("B is positive definite");
  Matrix work;
  paired(
      state, [&] { benchmark::DoNotOptimize(q.gradient()); }, [&] { work = lower; }, [&] { invert_lower(work); });
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2})
    for (const int n : {500, 1000, 2000}) b->Args({n, threads});
  b->ArgNames({"N", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(1.0);
}
BENCHMARK(laplace)->Apply(sizes);
BENCHMARK(evidence_gradient)->Apply(sizes);

/// Growth: time of a whole inference in N (process) and in N and D (regression), no baseline but the neighbour rows.
void growth_process(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  for (auto _ : state) benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value);
}
BENCHMARK(growth_process)
    ->ArgName("N")
    ->RangeMultiplier(2)
    ->Range(250, 4000)
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.5);

void growth_regression(benchmark::State& state) {
  const Model model = regression(state.range(0), state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value);
}
BENCHMARK(growth_regression)
    ->ArgNames({"N", "D"})
    ->ArgsProduct({{2000, 4000, 8000}, {100, 200, 400}})
    ->Unit(benchmark::kMillisecond)
    ->MinTime(0.5);

}  // namespace
}  // namespace gaussmith::bench
