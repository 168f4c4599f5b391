// Tilted moments, the inner step of expectation propagation, against the exponentials that quadrature cannot avoid.

#include "numerics/batch.hpp"
#include "paired.hpp"

#include "gaussmith/sites.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace gaussmith::bench {
namespace {

/// One call over 4096 rows, means in [-4, 4] and variances in [0.01, 10] (Student-t and Cauchy: variances in [0.01,
/// 1e4] and means up to 20 deviations). Baseline: 64 vectorised exponentials a row, one for each node of a typical
/// rule.
void tilted_moments_of(benchmark::State& state, const LikelihoodInfo& info, double power) {
  constexpr Index rows = 4096;
  constexpr int nodes = 64;
  SiteArguments arguments;
  for (const SiteArgumentInfo& a : info.arguments)
    if (a.required) arguments[a.name] = one(a.name == "trials" ? 5.0 : a.name == "nu" ? 4.0 : 1.0);
  const double y = info.traits.response == ResponseKind::count ? 3.0 : 1.0;
  const Sites sites = observe(info.traits.name, Vector::Constant(rows, y), arguments);
  Random random(9);
  Vector mean(rows);
  Vector variance(rows);
  for (Index i = 0; i < rows; ++i) {
    const bool heavy_tails = !info.traits.log_concave;
    variance(i) = std::pow(10.0, (heavy_tails ? 6 : 3) * random.uniform() - 2);
    mean(i) = heavy_tails ? 20 * (2 * random.uniform() - 1) * std::sqrt(variance(i)) : 8 * random.uniform() - 4;
  }
  Vector log_normaliser(rows);
  Vector tilted_mean(rows);
  Vector tilted_variance(rows);
  Vector scratch(rows);
  paired(
      state,
      [&] {
        sites->tilted(0, view(mean), view(variance), power,
                      {view(log_normaliser), view(tilted_mean), view(tilted_variance)});
        benchmark::DoNotOptimize(log_normaliser.data());
      },
      [] {},
      [&] {
        for (int node = 0; node < nodes; ++node) {
          batch::exp({mean.data(), static_cast<std::size_t>(rows)}, {scratch.data(), static_cast<std::size_t>(rows)});
          benchmark::DoNotOptimize(scratch.data());
        }
      });
  state.counters["ns_per_row"] = state.counters["best_ms"].value * 1e6 / rows;
}

const bool registered = [] {
  for (const LikelihoodInfo& info : likelihood_catalogue())
    for (const double power : {1.0, 0.5})
      benchmark::RegisterBenchmark(("tilted/" + info.traits.name + (power == 1.0 ? "" : "/half")).c_str(),
                                   [info, power](benchmark::State& s) { tilted_moments_of(s, info, power); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond)
          ->MinTime(0.2);
  return true;
}();

}  // namespace
}  // namespace gaussmith::bench
