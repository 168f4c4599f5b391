// Learning from the model's own start against the factorisation that every evaluation needs several times.

#include "gaussmith/kernel_expression.hpp"
#include "gaussmith/learn.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"

namespace gaussmith::bench {
namespace {

/// The inputs and classes of the other benchmarks under a probit process with one length-scale, from where a table with
/// these inputs starts.
Model two_parameters(Index n, Index columns) {
  Model model = classification(n, columns);
  auto& process = std::get<GaussianProcess>(model.prior);
  KernelExpression kernel = parse_kernel("se");
  kernel.start_from(*process.inputs, 1.0);
  process.kernel = kernel.build(columns);
  model.sites = {observe("bernoulli-probit", model.sites.front()->responses())};
  return model;
}

/// Arguments: N, columns of the inputs. Learns both parameters; baseline: one DPOTRF of that size.
void learn_by(benchmark::State& state, const Method& method) {
  const Model model = two_parameters(state.range(0), state.range(1));
  const BlasThreads blas(1);
  const auto& process = std::get<GaussianProcess>(model.prior);
  Matrix k;
  process.kernel->gram(*process.inputs, k);
  k.diagonal().array() += 1.0;
  Matrix work;
  int evaluations = 0;
  paired(
      state,
      [&] {
        const Learned learned = learn(model, method);
        if (learned.report.status != Status::converged) state.SkipWithError(learned.report.message.c_str());
        evaluations = learned.report.evaluations;
      },
      [&] { work = k; }, [&] { benchmark::DoNotOptimize(cholesky(work)); });
  state.counters["evaluations"] = evaluations;
}

void learning_laplace(benchmark::State& state) { learn_by(state, Laplace{}); }
void learning_ep(benchmark::State& state) { learn_by(state, Ep{}); }
void learning_kl(benchmark::State& state) { learn_by(state, Kl{}); }

void sizes(benchmark::internal::Benchmark* b) {
  for (const int columns : {2, 10}) b->Args({1000, columns});
  b->ArgNames({"N", "columns"})->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);
}
BENCHMARK(learning_laplace)->Apply(sizes);
BENCHMARK(learning_ep)->Apply(sizes);
BENCHMARK(learning_kl)->Apply(sizes);

}  // namespace
}  // namespace gaussmith::bench
