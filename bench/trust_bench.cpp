// What a card costs beside the fit it judges: the check by importance sampling, second order, and what is always on.
// What samplers cost beside the products and site values that they cannot do without.

#include "gaussmith/trust.hpp"
#include "linalg/serial_blas.hpp"
#include "paired.hpp"
#include "problems.hpp"
#include "sampling/chains.hpp"
#include "sampling/importance_sampling.hpp"
#include "trust/second_order.hpp"

namespace gaussmith::bench {
namespace {

constexpr Index input_columns = 10;

void no_preparation() {}

/// Argument: N. Baseline: a Laplace fit. The space, the Gaussian and 4000 draws with their moments.
void importance_check(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const Posterior q = infer(model, Laplace{});
  paired(
      state,
      [&] {
        const auto space = std::make_shared<const SamplingSpace>(model);
        const auto gaussian = ReferenceGaussian::make(space, q.site_approximation());
        ImportanceSampler sampler(model, {{&*gaussian, 1.0}}, {});
        sampler.draw(4000);
        benchmark::DoNotOptimize(sampler.estimate().log_evidence);
      },
      no_preparation, [&] { benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value); });
}
BENCHMARK(importance_check)->Arg(300)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);

/// Arguments: N, method (0 laplace, 1 kl, 2 ep). Baseline: the fit.
void next_order(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const Method method = state.range(1) == 0 ? Method(Laplace{}) : state.range(1) == 1 ? Method(Kl{}) : Method(Ep{});
  const Posterior q = infer(model, method);
  paired(
      state, [&] { benchmark::DoNotOptimize(second_order(q.state(), posterior_root(q.state())).evidence); },
      no_preparation, [&] { benchmark::DoNotOptimize(infer(model, method).log_evidence().value); });
}
BENCHMARK(next_order)->ArgsProduct({{1000}, {0, 1, 2}})->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);

/// Argument: N. Baseline: a Laplace fit, which has made the product for the predicted shift.
void always_on(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const Posterior q = infer(model, Laplace{});
  paired(
      state, [&] { benchmark::DoNotOptimize(quick_checks(q).skewness); }, no_preparation,
      [&] { benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value); });
}
BENCHMARK(always_on)->Arg(500)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

/// Argument: N. The product for the predicted shift, timed as one with V, which is an upper bound: 2 N^2 flops.
void predicted_shift(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const Posterior q = infer(model, Laplace{});
  const Matrix root = posterior_root(q.state()).rows;
  const PosteriorRoot rooted{root, {}, {}};
  paired(
      state, [&] { benchmark::DoNotOptimize(laplace_mean_shift(q.state(), rooted).sum()); }, no_preparation,
      [&] { benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value); });
}
BENCHMARK(predicted_shift)->Arg(500)->Arg(1000)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

/// Argument: N rows of ten weights. Baseline: a Laplace fit.
void always_on_linear(benchmark::State& state) {
  const Model model = regression(state.range(0), input_columns);
  const Posterior q = infer(model, Laplace{});
  paired(
      state, [&] { benchmark::DoNotOptimize(quick_checks(q).skewness); }, no_preparation,
      [&] { benchmark::DoNotOptimize(infer(model, Laplace{}).log_evidence().value); });
}
BENCHMARK(always_on_linear)->Arg(500)->Arg(20000)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

/// Argument: N. 100,000 draws with their moments; baseline: their products with the triangular root and site values.
void importance_draws(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const auto space = std::make_shared<const SamplingSpace>(model);
  const auto gaussian = ReferenceGaussian::make(space, infer(model, Laplace{}).site_approximation());
  const SiteTotals sites(model);
  constexpr Index draws = 100000;
  constexpr Index block = 100;
  Vector totals(block);
  Matrix x;
  paired(
      state,
      [&] {
        ImportanceSampler sampler(model, {{&*gaussian, 1.0}}, {.most = draws});
        sampler.draw(draws);
        benchmark::DoNotOptimize(sampler.estimate().log_evidence);
      },
      [&] { x = Matrix::Constant(model.rows(), block, 0.01); },
      [&] {
        for (Index done = 0; done < draws; done += block) {
          Matrix eta = x;
          serial::multiply_left(1.0, gaussian->latent_root(), As::is, eta);
          sites.totals(eta, {totals.data(), static_cast<std::size_t>(block)});
        }
        benchmark::DoNotOptimize(totals.sum());
      });
}
BENCHMARK(importance_draws)->Arg(100)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);

/// Argument: N. 250 draws of four moves each; baseline: as many products of the root with one vector (DGEMV). Below
/// 1/0.7 = 1.43 is 70 % of that bound.
void elliptical_slices(benchmark::State& state) {
  const Model model = classification(state.range(0), input_columns);
  const auto space = std::make_shared<const SamplingSpace>(model);
  const auto gaussian = ReferenceGaussian::make(space, infer(model, Laplace{}).site_approximation());
  const SiteTotals sites(model);
  constexpr int draws = 250;
  constexpr int moves = 4 * draws;
  const Matrix x = Matrix::Constant(model.rows(), 1, 0.01);
  Matrix out(model.rows(), 1);
  paired(
      state,
      [&] {
        const auto chain = elliptical_chain({&*gaussian, &sites}, Vector::Zero(model.rows()), Random(1));
        for (int draw = 0; draw < draws; ++draw) chain->advance(false);
        benchmark::DoNotOptimize(chain->x().sum());
      },
      no_preparation,
      [&] {
        for (int move = 0; move < moves; ++move)
          serial::add_product(1.0, gaussian->latent_root(), As::is, x, As::is, 0.0, out);
        benchmark::DoNotOptimize(out.sum());
      });
}
BENCHMARK(elliptical_slices)->Arg(500)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace gaussmith::bench
