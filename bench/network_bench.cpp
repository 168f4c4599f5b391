// A sweep of a network against what it cannot do without: a DSYRK for every unit and the quadratures over its
// activations, each of them alone. Growth with rows and units is in the time of one row and unit.

#include "gaussmith/random.hpp"
#include "linalg/serial_blas.hpp"
#include "network/network_fit.hpp"
#include "network/network_start.hpp"
#include "network/unit_tilt.hpp"
#include "paired.hpp"

#include <cmath>
#include <utility>

namespace gaussmith::bench {
namespace {

constexpr Index inputs = 8;

NetworkModel network_of(Index rows, int units) {
  Random random(1);
  Matrix x(rows, inputs);
  Vector y(rows);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < inputs; ++j) x(i, j) = random.normal();
    y(i) = std::sin(x(i, 0) * x(i, 1)) + 0.5 * x(i, 2) + 0.3 * random.normal();
  }
  NetworkModel model;
  model.inputs = std::move(x);
  model.sites = observe("gaussian", y, {{"variance", one(1.0)}});
  model.prior.units = units;
  return model;
}

/// Units that differ, without the search of a start.
void set_sites(NetworkFit& fit) {
  start_zero(fit);
  Random random(2);
  for (Index k = 1; k <= fit.hidden(); ++k) {
    GaussianFactors& sites = fit.units()[static_cast<std::size_t>(k)].activations;
    sites.precision.setConstant(0.5);
    for (double& shift : sites.shift) shift = 0.5 * random.normal();
  }
}

void network_sweep(benchmark::State& state) {
  const Index rows = state.range(0);
  const int units = static_cast<int>(state.range(1));
  const NetworkProblem problem = network_problem(network_of(rows, units));
  NetworkFit fit(problem, 0.8, CoreForm::precision, 1);
  set_sites(fit);
  if (!fit.begin()) {
    state.SkipWithError("the start is no distribution");
    return;
  }
  // Noise in five nodes, as the quadratures of a fit have it.
  NoisyOutput law(problem.sites->responses(), 0.8, 5);
  const Vector noise = Vector::Constant(rows, -1.0), spread = Vector::Constant(rows, 0.1);
  law.set_noise(0, view(noise), view(spread));
  const Vector none = Vector::Zero(rows), half = Vector::Constant(rows, 0.5), whole = Vector::Ones(rows);
  const UnitInFocus unit{.mean = view(none),
                         .variance = view(half),
                         .precision = view(half),
                         .shift = view(none),
                         .activation = view(none),
                         .output_mean = view(none),
                         .output_variance = view(whole),
                         .weight_mean = view(whole),
                         .weight_variance = view(half),
                         .covariance = view(half)};
  Vector shift(rows), ratio(rows);
  Matrix square(inputs + 1, inputs + 1);
  paired(
      state, [&] { (void)fit.sweep(0.1); }, [] {},
      [&] {
        for (int k = 0; k < units; ++k) {
          serial::add_square(1.0, problem.rows, As::transposed, 0.0, square);
          tilt_unit(law, 0, unit, view(shift), view(ratio));
        }
      });
  state.counters["us_row_unit"] = 1e3 * state.counters["best_ms"] / static_cast<double>(rows * units);
}

BENCHMARK(network_sweep)
    ->Args({1000, 10})
    ->Args({10000, 10})
    ->Args({100000, 10})
    ->Args({10000, 5})
    ->Args({10000, 20})
    ->Args({10000, 40})
    ->UseManualTime()
    ->Iterations(3)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gaussmith::bench
