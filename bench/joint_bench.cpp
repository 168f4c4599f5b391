// Factors of rows with several latents against the DPOTRF calls they stand on.

#include "gaussian/block_factor.hpp"
#include "gaussian/star_factor.hpp"
#include "gaussmith/random.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/serial_blas.hpp"
#include "paired.hpp"

#include <cmath>

namespace gaussmith::bench {
namespace {

std::shared_ptr<const JointPrior> prior_of(Index n, Index functions, int threads) {
  Random random(42);
  Matrix x(n, 3);
  for (Index j = 0; j < x.cols(); ++j)
    for (Index i = 0; i < n; ++i) x(i, j) = random.normal();
  const auto kernel = make_kernel("se", {{"signal_sd", {2.0}}, {"lengthscale", {1.0}}});
  return std::make_shared<const JointPrior>(GaussianProcess{x, kernel}, Design(Identity{}), Latents{.count = functions},
                                            threads);
}

/// Softmax sites at random latents of standard deviation `spread`: the larger, the more classes have next to none.
SiteApproximation softmax_sites(Index n, Index functions, double spread) {
  Random random(43);
  SiteApproximation sites{Vector(n * functions * functions), Vector::Zero(n * functions), functions};
  sites.star.resize(n * functions);
  for (Index i = 0; i < n; ++i) {
    Vector p(functions);
    for (Index c = 0; c < functions; ++c) p(c) = std::exp(spread * random.normal());
    p /= p.sum();
    sites.star.segment(i * functions, functions) = p;
    Matrix t = -p * p.transpose();
    t.diagonal() += p;
    sites.precision.segment(i * functions * functions, functions * functions) = t.reshaped();
  }
  return sites;
}

Matrix positive_definite(Index n) {
  Matrix a = Matrix::Constant(n, n, 0.5);
  a.diagonal().setConstant(1.0 + static_cast<double>(n));
  return a;
}

/// Factorisation and the blocks of V against `count` calls of DPOTRF of this order on one thread.
template <class Factor>
void against_cholesky(benchmark::State& state, Index order, Index count) {
  const int threads = static_cast<int>(state.range(3));
  const BlasThreads blas(threads);
  Factor factor(prior_of(state.range(0), state.range(1), threads));
  const SiteApproximation sites = softmax_sites(state.range(0), state.range(1), static_cast<double>(state.range(2)));
  const Matrix start = positive_definite(order);
  Matrix work;
  paired(
      state,
      [&] {
        benchmark::DoNotOptimize(factor.factorise(sites));
        benchmark::DoNotOptimize(factor.covariances().sum());
      },
      [&] { work = start; }, [&] { benchmark::DoNotOptimize(serial::cholesky(work)); });
  state.counters["ratio"] = state.counters["ratio"] / static_cast<double>(count);
}

/// Arguments: N, C, spread of the latents, threads.
void star_factor(benchmark::State& state) { against_cholesky<StarFactor>(state, state.range(0), state.range(1) + 1); }
void block_factor(benchmark::State& state) {
  against_cholesky<BlockFactor>(state, state.range(0) * (state.range(1) - 1), 1);
}

void star_sizes(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2}) {
    for (const int spread : {1, 4}) b->Args({500, 10, spread, threads});
    b->Args({500, 5, 1, threads})->Args({500, 20, 1, threads});
    b->Args({250, 10, 1, threads})->Args({1000, 10, 1, threads});
  }
  b->ArgNames({"N", "C", "spread", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.5);
}
void block_sizes(benchmark::internal::Benchmark* b) {
  for (const int threads : {1, 2}) {
    for (const int spread : {1, 4}) b->Args({250, 10, spread, threads});
    b->Args({500, 3, 1, threads})->Args({500, 5, 1, threads})->Args({500, 10, 1, threads});
  }
  b->ArgNames({"N", "C", "spread", "threads"})->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.5);
}
BENCHMARK(star_factor)->Apply(star_sizes);
BENCHMARK(block_factor)->Apply(block_sizes);

}  // namespace
}  // namespace gaussmith::bench
