// Constrained covariances of Gaussian-KL inference: time to the published stopping rule, largest gradient 1e-3 in (m,
// C), for logistic regression with N = 5 D dense rows and two threads.

#include "families/fit_family.hpp"
#include "gaussmith/infer.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"
#include "problems.hpp"
#include "support/truncated_newton.hpp"

namespace gaussmith::bench {
namespace {

constexpr int threads = 2;

FamilyOptions published_rule(Ascent ascent) {
  FamilyOptions options;
  options.tolerance = 1e-14;
  options.largest_gradient = 1e-3;
  options.ascent = ascent;
  return options;
}

FamilyFit fit(const Model& model, const char* family, Ascent ascent = ascend) {
  FamilyFit result = fit_family(model, parse_family(family), published_rule(ascent), threads);
  benchmark::DoNotOptimize(result.bound);
  return result;
}

/// One DSYRK, DPOTRF and DTRSM of the sizes of a full-covariance step.
void one_full_step(const Model& model) {
  const auto& h = *model.design.entries().dense;
  Matrix a = Matrix::Zero(h.cols(), h.cols());
  add_gram(1.0, h, 0.0, a);
  a.diagonal().array() += 1.0;
  if (!cholesky(a)) return;
  Matrix rows = h.transpose();
  solve_lower(a, rows);
  benchmark::DoNotOptimize(rows.data());
}

void family_against_full_steps(benchmark::State& state, const char* family) {
  const BlasThreads blas(threads);
  const Index d = state.range(0);
  const Model model = regression(5 * d, d);
  paired(
      state, [&] { (void)fit(model, family); }, [] {}, [&] { one_full_step(model); });
}

/// The full covariance in its site form, to a residual of 1e-6.
void chevron_against_site_form(benchmark::State& state) {
  const BlasThreads blas(threads);
  const Index d = state.range(0);
  const Model model = regression(5 * d, d);
  paired(
      state, [&] { (void)fit(model, "chevron:50"); }, [] {},
      [&] {
        const Posterior q = infer(model, Kl{.covariance = "full", .tolerance = 1e-6}, {.threads = threads});
        benchmark::DoNotOptimize(q.log_evidence().value);
      });
}

void chevron_against_newton(benchmark::State& state) {
  const BlasThreads blas(threads);
  const Index d = state.range(0);
  const Model model = regression(5 * d, d);
  paired(
      state, [&] { (void)fit(model, "chevron:50"); }, [] {},
      [&] { (void)fit(model, "full", testing::truncated_newton); });
}

void banded_against_chevron(benchmark::State& state) {
  const BlasThreads blas(threads);
  const Index d = state.range(0);
  const Model model = regression(5 * d, d);
  paired(
      state, [&] { (void)fit(model, "banded:50"); }, [] {}, [&] { (void)fit(model, "chevron:50"); });
}

BENCHMARK_CAPTURE(family_against_full_steps, chevron, "chevron:50")
    ->Arg(1000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family_against_full_steps, banded, "banded:50")
    ->Arg(1000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family_against_full_steps, diagonal, "diagonal")
    ->Arg(1000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(family_against_full_steps, subspace, "subspace:50")
    ->Arg(1000)
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(banded_against_chevron)->Arg(1000)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(chevron_against_site_form)->Arg(1000)->UseManualTime()->Iterations(3)->Unit(benchmark::kMillisecond);
BENCHMARK(chevron_against_newton)->Arg(1000)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gaussmith::bench
