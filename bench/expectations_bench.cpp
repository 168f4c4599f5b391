// Gaussian expectations of log sites against the function evaluations that quadrature cannot avoid.

#include "numerics/batch.hpp"
#include "numerics/expectations.hpp"
#include "paired.hpp"

#include "gaussmith/sites.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gaussmith::bench {
namespace {

/// One million logit expectations with both derivatives, means in [-10, 10], variances in [0.01, 100]. Baseline: as
/// many vectorised exp and log1p as the quadrature has nodes, one million times.
void logit_expectations(benchmark::State& state) {
  constexpr std::size_t rows = 1'000'000;
  const auto nodes = static_cast<std::size_t>(softplus_expectation_nodes);
  Random random(5);
  Vector mean(rows);
  Vector variance(rows);
  Vector y(rows);
  for (Index i = 0; i < mean.size(); ++i) {
    mean(i) = 20 * random.uniform() - 10;
    variance(i) = std::pow(10.0, 4 * random.uniform() - 2);
    y(i) = random.uniform() < 0.5 ? -1.0 : 1.0;
  }
  const Sites sites = observe("bernoulli-logit", y);
  Vector value(rows);
  Vector d_mean(rows);
  Vector d_variance(rows);
  constexpr std::size_t block = 1024;
  std::vector<double> scratch(block);
  double sum = 0.0;
  paired(
      state,
      [&] {
        for (std::size_t first = 0; first < rows; first += block) {
          const std::size_t count = std::min(block, rows - first);
          const auto at = [&](auto& v) { return std::span(v.data() + first, count); };
          sites->expectation(static_cast<Index>(first), at(mean), at(variance),
                             {at(value), at(d_mean), at(d_variance)});
        }
        benchmark::DoNotOptimize(value.sum());
      },
      [] {},
      [&] {
        for (std::size_t first = 0; first < rows; first += block) {
          const std::size_t count = std::min(block, rows - first);
          const std::span<double> out(scratch.data(), count);
          for (std::size_t node = 0; node < nodes; ++node) {
            batch::exp(std::span<const double>(mean.data() + first, count), out);
            batch::log1p(out, out);
            sum += out[0];
          }
        }
        benchmark::DoNotOptimize(sum);
      });
  state.counters["nodes"] = softplus_expectation_nodes;
  state.counters["ns_per_row"] = state.counters["best_ms"].value * 1e6 / rows;
}
BENCHMARK(logit_expectations)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(1.0);

/// Nanoseconds a row of every likelihood's expectation, without a baseline: where the time goes.
void site_maths(benchmark::State& state, const LikelihoodInfo& info) {
  constexpr std::size_t rows = 4096;
  SiteArguments arguments;
  for (const SiteArgumentInfo& a : info.arguments)
    if (a.required) arguments[a.name] = one(a.name == "trials" ? 5.0 : 1.5);
  const double y = info.traits.response == ResponseKind::count ? 3.0 : 1.0;
  const Sites sites = observe(info.traits.name, Vector::Constant(rows, y), arguments);
  Vector mean = Vector::LinSpaced(rows, -4, 4);
  Vector variance = Vector::LinSpaced(rows, 0.05, 3);
  Vector a(rows);
  Vector b(rows);
  Vector c(rows);
  for (auto _ : state) {
    sites->expectation(0, view(mean), view(variance), {view(a), view(b), view(c)});
    benchmark::DoNotOptimize(a.data());
  }
  state.counters["ns_per_row"] = benchmark::Counter(
      static_cast<double>(rows) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const bool registered = [] {
  for (const LikelihoodInfo& info : likelihood_catalogue())
    benchmark::RegisterBenchmark(("expectation/" + info.traits.name).c_str(), [info](benchmark::State& s) {
      site_maths(s, info);
    })->MinTime(0.1);
  return true;
}();

}  // namespace
}  // namespace gaussmith::bench
