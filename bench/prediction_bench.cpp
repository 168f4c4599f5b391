// Prediction against the triangular solve it needs.

#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

namespace gaussmith::bench {
namespace {

/// 10,000 points from N = 1000: latent mean and variance. Baseline: DTRSM of 1000 x 10,000. Argument: threads.
void prediction(benchmark::State& state) {
  const Index n = 1000;
  const Index points = 10000;
  const int threads = static_cast<int>(state.range(0));
  const BlasThreads blas(threads);
  const Model model = classification(n, 10);
  const Posterior q = infer(model, Laplace{}, {.threads = threads});
  Random random(1);
  Matrix fresh(points, 10);
  for (Index j = 0; j < fresh.cols(); ++j)
    for (Index i = 0; i < points; ++i) fresh(i, j) = random.normal();
  Matrix lower = Matrix::Identity(n, n) + Matrix::Constant(n, n, 1e-3);
  if (!cholesky(lower)) throw std::logic_error("the matrix is positive definite");
  Matrix right = Matrix::Ones(n, points);
  paired(
      state, [&] { benchmark::DoNotOptimize(q.predict(fresh).latent_variance().sum()); }, [&] { right.setOnes(); },
      [&] { solve_lower(lower, right); });
}
BENCHMARK(prediction)->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(2.0);

}  // namespace
}  // namespace gaussmith::bench
