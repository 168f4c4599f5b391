// Operations cut into tiles for several threads against the one call of LAPACK or BLAS that does the same on one.

#include "base/worker_pool.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "linalg/serial_blas.hpp"
#include "paired.hpp"

namespace gaussmith::bench {
namespace {

Matrix positive_definite(Index n) {
  Matrix a = Matrix::Random(n, n);
  Matrix square = Matrix::Identity(n, n) * static_cast<double>(n);
  add_outer(1.0, a, 1.0, square);
  return square;
}

Matrix triangle(Index n) {
  Matrix a = positive_definite(n);
  if (!cholesky(a)) throw std::logic_error("positive definite");
  return a;
}

/// Arguments: N, threads. Baseline: the same on one thread in one call. `work` is put back before each.
void against_plain(benchmark::State& state, const Matrix& start, const auto& shared, const auto& plain) {
  const BlasThreads blas(static_cast<int>(state.range(1)));
  Matrix work = start;
  Matrix other = start;
  paired(
      state, [&] { shared(work); },
      [&] {
        work = start;
        other = start;
      },
      [&] { plain(other); });
}

void factorise(benchmark::State& state) {
  against_plain(
      state, positive_definite(state.range(0)), [](Matrix& a) { benchmark::DoNotOptimize(cholesky(a)); },
      [](Matrix& a) { benchmark::DoNotOptimize(serial::cholesky(a)); });
}
void invert(benchmark::State& state) {
  against_plain(
      state, triangle(state.range(0)), [](Matrix& a) { invert_lower(a); }, [](Matrix& a) { serial::invert_lower(a); });
}
void triangle_square(benchmark::State& state) {
  against_plain(
      state, triangle(state.range(0)), [](Matrix& a) { lower_transposed_times_lower(a); },
      [](Matrix& a) { serial::lower_transposed_times_lower(a); });
}
void solve(benchmark::State& state) {
  const Matrix lower = triangle(state.range(0));
  against_plain(
      state, Matrix::Random(state.range(0), state.range(0)), [&](Matrix& a) { solve_lower(lower, a); },
      [&](Matrix& a) { serial::solve_left(1.0, lower, As::is, a); });
}
void square(benchmark::State& state) {
  const Matrix factor = Matrix::Random(state.range(0), state.range(0));
  against_plain(
      state, positive_definite(state.range(0)), [&](Matrix& a) { add_gram(1.0, factor, 0.0, a); },
      [&](Matrix& a) { serial::add_square(1.0, factor, As::transposed, 0.0, a); });
}
void product(benchmark::State& state) {
  const Matrix factor = Matrix::Random(state.range(0), state.range(0));
  against_plain(
      state, factor, [&](Matrix& a) { set_times_transposed(factor, factor, a); },
      [&](Matrix& a) { serial::add_product(1.0, factor, As::is, factor, As::transposed, 0.0, a); });
}
/// Waking a worker and waiting for it, against nothing.
void wake(benchmark::State& state) {
  for (auto _ : state) work_together(2, [] {});
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2})
    for (const int n : {300, 500, 1000, 2000}) b->Args({n, threads});
  b->ArgNames({"N", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.5);
}
BENCHMARK(factorise)->Apply(sizes);
BENCHMARK(invert)->Apply(sizes);
BENCHMARK(triangle_square)->Apply(sizes);
BENCHMARK(solve)->Apply(sizes);
BENCHMARK(square)->Apply(sizes);
BENCHMARK(product)->Apply(sizes);
BENCHMARK(wake);

}  // namespace
}  // namespace gaussmith::bench
