// The site form of kl against the published solvers of the same bound, to a duality gap of 1e-4; and what gaps cost.
// Needs the digits: GAUSSMITH_DIGITS=usps_3v5.csv.gz gaussmith_bench --benchmark_filter=kl_sites

#include "digits.hpp"
#include "engines/kl_search.hpp"
#include "linalg/blas_threads.hpp"
#include "paired.hpp"

#include <utility>

namespace gaussmith::bench {
namespace {

constexpr int threads = 2;
/// Arguments say log s without a sign.
double log_s_of(int64_t argument) { return argument == 4 ? 4.0 : -1.0; }

Kl to_the_gap(KlSolver solver, Decoupled decoupled = {}) {
  return {.covariance = "full", .starts = 1, .solver = solver, .decoupled = decoupled, .stop = KlStop::gap};
}

/// Subject: sites. Baseline: another solver. So the ratio is how much faster sites is, upside down.
void against(benchmark::State& state, const Kl& other) {
  if (digits_path() == nullptr) return state.SkipWithError("GAUSSMITH_DIGITS names no table");
  const Model model = digits(state.range(0), log_s_of(state.range(1)));
  const Kl sites = to_the_gap(KlSolver::sites);
  const auto run = [&](const Kl& options) { return infer(model, options, {.threads = threads}); };
  paired(
      state, [&] { benchmark::DoNotOptimize(run(sites).log_evidence().value); }, [] {},
      [&] { benchmark::DoNotOptimize(run(other).log_evidence().value); });
  const Posterior a = run(sites);
  const Posterior b = run(other);
  state.counters["sites_iterations"] = a.report().iterations;
  state.counters["other_iterations"] = b.report().iterations;
  state.counters["other_gap"] = b.report().duality_gap.value_or(-1.0);
}

void kl_sites_against_decoupled(benchmark::State& state) { against(state, to_the_gap(KlSolver::decoupled)); }
void kl_sites_against_printed(benchmark::State& state) {
  against(state, to_the_gap(KlSolver::decoupled, {.penalty = DecoupledPenalty::printed}));
}
void kl_sites_against_alpha_lambda(benchmark::State& state) { against(state, to_the_gap(KlSolver::alpha_lambda)); }
void kl_sites_against_cholesky(benchmark::State& state) { against(state, to_the_gap(KlSolver::cholesky)); }

void every_size(benchmark::internal::Benchmark* b) {
  b->ArgNames({"N", "log_s"})
      ->ArgsProduct({{200, 500, 1000, 1500}, {4, 1}})
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(3);
}
BENCHMARK(kl_sites_against_decoupled)->Apply(every_size);
BENCHMARK(kl_sites_against_printed)->Apply(every_size);
BENCHMARK(kl_sites_against_alpha_lambda)->Apply(every_size);
BENCHMARK(kl_sites_against_cholesky)->Apply(every_size);

/// A converged search with gaps, as kl makes it, against the same without.
void kl_sites_gap(benchmark::State& state) {
  if (digits_path() == nullptr) return state.SkipWithError("GAUSSMITH_DIGITS names no table");
  const Model model = digits(state.range(0), log_s_of(state.range(1)));
  const BlasThreads blas(threads);
  const auto core = make_core(model, CoreForm::covariance, threads);
  const SiteRows sites(model, threads);
  const auto climb = [&](bool gap) {
    benchmark::DoNotOptimize(best_kl_climb(climb_options(Kl{}, gap), {.threads = threads}, *core, sites).end.bound);
  };
  paired(
      state, [&] { climb(true); }, [] {}, [&] { climb(false); });
}
BENCHMARK(kl_sites_gap)->Apply(every_size);

}  // namespace
}  // namespace gaussmith::bench
