// A sweep of a network against what it cannot do without: a DSYRK for every hidden unit and its quadratures, each of
// them alone and at the state of the fit. Growth with rows and units is in the time of one row and unit. Of processor
// time, which a busy machine disturbs least.

#include "gaussmith/infer.hpp"
#include "gaussmith/random.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/serial_blas.hpp"
#include "network/activation.hpp"
#include "network/factors.hpp"
#include "network/network_fit.hpp"
#include "network/network_start.hpp"
#include "network/unit_tilt.hpp"
#include "paired.hpp"

#include <cmath>
#include <utility>
#include <vector>

namespace gaussmith::bench {
namespace {

constexpr Index inputs = 8;
constexpr double power = 0.8;

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

/// The quadratures of a sweep at the state of a fit: over theta with its rules, over every activation, and E[g].
class Quadratures {
 public:
  explicit Quadratures(const NetworkFit& fit)
      : units_(fit.problem().sites->responses(), power, 5),
        outputs_(fit.problem().sites->responses(), power, 15),
        output_(fit.leave_one_out().latent),
        noise_mean_(output_.mean.size()),
        noise_variance_(output_.mean.size()),
        focus_(static_cast<std::size_t>(fit.hidden())),
        first_(output_.mean.size()),
        second_(output_.mean.size()),
        third_(output_.mean.size()) {
    for (Index i = 0; i < noise_mean_.size(); ++i) {
      Normal cavity;
      (void)without(fit.noise(), power * fit.noise_sites.precision(i), power * fit.noise_sites.shift(i), cavity);
      noise_mean_(i) = cavity.mean;
      noise_variance_(i) = cavity.variance;
    }
    const Matrix covariance = fit.activation_means() * fit.output_covariance();
    for (Index k = 0; k < fit.hidden(); ++k) {
      Focus& focus = focus_[static_cast<std::size_t>(k)];
      const NetworkUnit& unit = fit.units()[static_cast<std::size_t>(k) + 1];
      const double m = fit.output_mean()(k), s = fit.output_covariance()(k, k);
      focus.unit = &unit;
      focus.precision = power * unit.activations.precision;
      focus.shift = power * unit.activations.shift;
      focus.g_mean.resize(first_.size());
      focus.g_variance.resize(first_.size());
      activation_moments(view(unit.cavity.mean), view(unit.cavity.variance), view(focus.g_mean),
                         view(focus.g_variance));
      focus.rest = (output_.variance - (m * m + s) * focus.g_variance).cwiseMax(0.1 * output_.variance);
      focus.weight_mean = Vector::Constant(first_.size(), m);
      focus.weight_variance = Vector::Constant(first_.size(), s);
      focus.covariance = covariance.col(k);
    }
  }

  void over_noise() {
    const ConstSpan m = view(std::as_const(output_.mean)), v = view(std::as_const(output_.variance));
    units_.set_noise(0, view(std::as_const(noise_mean_)), view(std::as_const(noise_variance_)), m, v);
    outputs_.set_noise(0, view(std::as_const(noise_mean_)), view(std::as_const(noise_variance_)), m, v);
    for (int unit = 0; unit < 2; ++unit)  // The linear one and v.
      outputs_.slopes(0, m, v, {view(first_), view(second_), view(third_)});
    outputs_.noise_moments(0, m, v, view(first_), view(second_));
  }

  void over_activation(Index k) {
    Focus& focus = focus_[static_cast<std::size_t>(k)];
    const Marginals& q = focus.unit->law.activations();
    tilt_unit(units_, 0,
              {.mean = view(q.mean),
               .variance = view(q.variance),
               .precision = view(std::as_const(focus.precision)),
               .shift = view(std::as_const(focus.shift)),
               .activation = view(std::as_const(focus.g_mean)),
               .output_mean = view(std::as_const(output_.mean)),
               .output_variance = view(std::as_const(focus.rest)),
               .weight_mean = view(std::as_const(focus.weight_mean)),
               .weight_variance = view(std::as_const(focus.weight_variance)),
               .covariance = view(std::as_const(focus.covariance))},
              view(first_), view(second_));
    activation_moments(view(focus.unit->cavity.mean), view(focus.unit->cavity.variance), view(first_), view(second_));
  }

 private:
  struct Focus {
    const NetworkUnit* unit = nullptr;
    Vector precision, shift, g_mean, g_variance, rest, weight_mean, weight_variance, covariance;
  };

  NoisyOutput units_, outputs_;
  Marginals output_;
  Vector noise_mean_, noise_variance_;
  std::vector<Focus> focus_;
  Vector first_, second_, third_;
};

void network_sweep(benchmark::State& state) {
  const Index rows = state.range(0);
  const int units = static_cast<int>(state.range(1));
  const NetworkProblem problem = network_problem(network_of(rows, units));
  NetworkFit fit(problem, power, CoreForm::precision, 1);
  set_sites(fit);
  if (!fit.begin()) {
    state.SkipWithError("the start is no distribution");
    return;
  }
  for (int i = 0; i < 10; ++i) (void)fit.sweep(0.3);
  Quadratures quadratures(fit);
  Matrix square(inputs + 1, inputs + 1);
  SweepResult result;
  paired(
      state, [&] { result = fit.sweep(0.1); }, [] {},
      [&] {
        quadratures.over_noise();
        for (int k = 0; k < units; ++k) {
          serial::add_square(1.0, problem.rows, As::transposed, 0.0, square);
          quadratures.over_activation(k);
        }
      },
      [](const auto& work) { return processor_seconds_of(work); });
  state.counters["us_row_unit"] = 1e3 * state.counters["best_ms"] / static_cast<double>(rows * units);
  state.counters["shortened"] = result.shortened;
}

/// 200 sweeps of ten units against one evidence of an exact Gaussian process on the same rows with its gradient.
void network_against_process(benchmark::State& state) {
  const NetworkModel model = network_of(state.range(0), 10);
  const NetworkProblem problem = network_problem(model);
  NetworkFit fit(problem, power, CoreForm::precision, 1);
  set_sites(fit);
  if (!fit.begin()) {
    state.SkipWithError("the start is no distribution");
    return;
  }
  const Vector scales = Vector::Constant(inputs, 2.0);
  const Model process{
      .prior = GaussianProcess{model.inputs, make_kernel("se", {{"signal_sd", {1.0}},
                                                                {"lengthscale", {scales.begin(), scales.end()}}})},
      .design = Identity{},
      .offset = {},
      .sites = {observe("gaussian", problem.sites->responses(), {{"variance", one(0.1)}})}};
  const BlasThreads blas(1);
  paired(
      state,
      [&] {
        for (int i = 0; i < 200; ++i) (void)fit.sweep(0.3);
      },
      [] {},
      [&] {
        const Posterior q = infer(process, Laplace{}, {.threads = 1});
        benchmark::DoNotOptimize(q.gradient());
      },
      [](const auto& work) { return processor_seconds_of(work); });
}

BENCHMARK(network_sweep)
    ->Args({1000, 10})
    ->Args({10000, 10})
    ->Args({100000, 10})
    ->Args({10000, 5})
    ->Args({10000, 20})
    ->Args({10000, 40})
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

BENCHMARK(network_against_process)->Arg(2048)->Arg(8192)->UseManualTime()->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gaussmith::bench
