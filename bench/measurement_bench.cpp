// Design of measurements: cold fits of synthetic signals, and fits and steps on images, beside the DPOTRF and DPOTRI
// that a factorisation with its covariance cannot do without.

#include "gaussmith/measurement.hpp"
#include "gaussmith/operators.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "paired.hpp"

#include <ctime>

namespace gaussmith::bench {
namespace {

constexpr int threads = 2;
const Run on_threads{.threads = threads};

/// D x D, of full rank; the lower triangle alone matters.
Matrix some_precision(Index d) {
  Matrix a = Matrix::Identity(d, d);
  add_outer(1.0, random_rows(64, d, 3, 0).transpose(), 1.0, a);
  return a;
}

/// One DPOTRF and one DPOTRI.
void factorise_and_invert(Matrix& a) {
  benchmark::DoNotOptimize(cholesky(a));
  invert_lower(a);
  lower_transposed_times_lower(a);
}

Method method_of(int number) {
  switch (number) {
    case 0:
      return Vb{.tolerance = 1e-3, .starts = 1};
    case 1:
      return Ep{.power = 0.9, .tolerance = 1e-3};
    default:
      return Kl{.tolerance = 1e-3, .starts = 1};
  }
}

/// A signal of D Laplace or Student-t weights with variance 0.08.
Vector signal(Index d, bool heavy) {
  Random random(5);
  Vector out(d);
  for (double& x : out) {
    const double z = random.normal();
    x = heavy ? z * std::sqrt(0.0267 / (random.gamma(1.5) / 1.5)) : (z < 0.0 ? -0.2 : 0.2) * random.exponential();
  }
  return out;
}

/// D = 512, N = 110. Methods: 0 vb, 1 ep of power 0.9, 2 kl; Student-t sites with 3 degrees or Laplace ones of scale
/// 0.2.
void design_cold_fit(benchmark::State& state) {
  constexpr Index d = 512;
  const bool heavy = state.range(1) != 0;
  const Model model{
      .prior = NoGaussian{d},
      .design = Identity{},
      .sites = {heavy ? observe("student-t", Vector::Zero(d), {{"nu", one(3.0)}, {"scale", one(std::sqrt(0.0267))}})
                      : observe("laplace", Vector::Zero(d), {{"scale", one(0.2)}})}};
  const Matrix rows = random_rows(110, d, 1, 0);
  const Vector values = rows * signal(d, heavy);
  const auto fit = [&] {
    DesignSession session(model, method_of(static_cast<int>(state.range(0))), {.noise_variance = 0.005}, on_threads);
    session.observe(rows, values);
    benchmark::DoNotOptimize(session.belief().mean.sum());
    return session.state().iterations;
  };
  const BlasThreads blas(threads);
  Matrix a;
  paired(
      state, fit, [&] { a = some_precision(d); }, [&] { factorise_and_invert(a); });
  state.counters["factorisations"] = static_cast<double>(fit());
}
BENCHMARK(design_cold_fit)
    ->ArgNames({"method", "student_t"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({2, 0})
    ->Args({0, 1})
    ->Args({2, 1})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

Model image_model(Index side) {
  const Grid grid{.height = side, .width = side};
  const OperatorHandle differences = finite_differences(grid);
  return {.prior = NoGaussian{grid.size()},
          .design = stacked({differences, wavelets(grid, 4)}),
          .sites = {observe("laplace", Vector::Zero(differences->rows()), {{"scale", one(0.1)}}),
                    observe("laplace", Vector::Zero(grid.size()), {{"scale", one(0.14)}})}};
}

/// Discs on a ramp, from -1 to 1.
Vector image(Index side) {
  Vector out(side * side);
  for (Index i = 0; i < side; ++i)
    for (Index j = 0; j < side; ++j) {
      const double u = static_cast<double>(i) / static_cast<double>(side);
      const double v = static_cast<double>(j) / static_cast<double>(side);
      const bool disc = std::hypot(u - 0.4, v - 0.5) < 0.25 || std::hypot(u - 0.7, v - 0.2) < 0.12;
      out(i * side + j) = disc ? 0.7 : 0.6 * v - 0.8;
    }
  return out;
}

/// What a busy machine adds is in the first alone.
struct Spent {
  double seconds = 0.0;
  double processor = 0.0;  ///< Of all threads.
  double caller = 0.0;     ///< Of the calling thread: what the clock would say were there no wait.
};

double caller_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Spent spent_by(const auto& work) {
  const std::clock_t before = std::clock();
  const double caller = caller_seconds();
  const double seconds = seconds_of(work);
  return {seconds, static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, caller_seconds() - caller};
}

/// A side, and refits every so many steps of three greedy rows: a cold fit of N rows, then the mean of a step. What a
/// factorisation of the fit takes is beside one DPOTRF and one DPOTRI.
void design_images(benchmark::State& state) {
  const Index side = state.range(0);
  const Index refit = state.range(2);
  const Index steps = 2 * refit;
  const Index d = side * side;
  const Vector truth = image(side);
  DesignSession session(image_model(side), method_of(static_cast<int>(state.range(3))),
                        {.noise_variance = 0.005, .refit = refit}, on_threads);
  const Matrix rows = random_rows(state.range(1), d, 1, 0);
  session.observe(rows, rows * truth);
  Spent cold;
  Spent warm;
  Index cold_sweeps = 0;
  const BlasThreads blas(threads);
  Spent baseline;
  for (auto _ : state) {
    cold = spent_by([&] { benchmark::DoNotOptimize(session.belief().mean.sum()); });
    cold_sweeps = session.state().iterations;
    Matrix a = some_precision(d);
    baseline = spent_by([&] { factorise_and_invert(a); });
    warm = spent_by([&] {
      for (Index step = 0; step < steps; ++step) {
        const Matrix proposed = session.propose(3).rows;
        session.observe(proposed * truth);
        benchmark::DoNotOptimize(session.belief().mean.sum());
      }
    });
    state.SetIterationTime(cold.seconds + warm.seconds);
  }
  state.counters["cold_s"] = cold.seconds;
  state.counters["cold_processor_s"] = cold.processor;
  state.counters["cold_caller_s"] = cold.caller;
  state.counters["step_s"] = warm.seconds / static_cast<double>(steps);
  state.counters["step_processor_s"] = warm.processor / static_cast<double>(steps);
  state.counters["step_caller_s"] = warm.caller / static_cast<double>(steps);
  state.counters["cold_factorisations"] = static_cast<double>(cold_sweeps);
  state.counters["step_factorisations"] =
      static_cast<double>(session.state().iterations - cold_sweeps) / static_cast<double>(steps);
  state.counters["factorise_invert_s"] = baseline.seconds;
  state.counters["factorise_invert_processor_s"] = baseline.processor;
  state.counters["factorise_invert_caller_s"] = baseline.caller;
  state.counters["sweep_ratio"] = cold.processor / static_cast<double>(cold_sweeps) / baseline.processor;
}
BENCHMARK(design_images)
    ->ArgNames({"side", "N", "refit", "method"})
    ->Args({32, 100, 1, 2})
    ->Args({32, 100, 5, 2})
    ->Args({64, 100, 1, 2})
    ->Args({64, 100, 5, 2})
    ->Args({64, 100, 1, 0})
    ->UseManualTime()
    ->Unit(benchmark::kSecond)
    ->Iterations(1);

}  // namespace
}  // namespace gaussmith::bench
