// Class probabilities of new rows.

#include "gaussmith/random.hpp"
#include "numerics/class_probabilities.hpp"

#include <benchmark/benchmark.h>

#include <Eigen/LU>

namespace gaussmith::bench {
namespace {

/// A posterior of independent functions with prior variances up to 9, seen by a few rows.
Matrix posterior_covariance(Index classes, Random& random) {
  Vector precision(classes), share(classes);
  for (Index c = 0; c < classes; ++c) {
    precision(c) = 1.0 / (1.0 + 8.0 * random.uniform());
    share(c) = random.uniform();
  }
  share /= share.sum();
  Matrix sum = precision.asDiagonal();
  sum += 3.0 * (Matrix(share.asDiagonal()) - share * share.transpose());
  return sum.inverse();
}

/// A random correlation of full rank, variance 9.
Matrix full_covariance(Index classes, Random& random) {
  Matrix root(classes, classes);
  for (double& x : root.reshaped()) x = random.normal();
  root.rowwise().normalize();
  return 9.0 * root * root.transpose();
}

/// 1,000 rows, 100 of full covariances, to an error of 1e-4. Arguments: probit or not, full covariances or those of a
/// posterior, classes, threads. Reports the largest error that was stated, and the share of rows that kept within the
/// tolerance.
void class_probability_rows(benchmark::State& state) {
  const ClassLink link = state.range(0) == 0 ? ClassLink::logit : ClassLink::probit;
  const Index rows = state.range(1) == 0 ? 1000 : 100;
  const Index classes = state.range(2);
  const ProbabilityGoal goal{.threads = static_cast<int>(state.range(3))};
  Random random(1);
  Vector mean(rows * classes), covariance(rows * classes * classes), probability(rows * classes), error(rows);
  for (double& m : mean) m = 2.0 * random.normal();
  for (Index n = 0; n < rows; ++n)
    covariance.segment(n * classes * classes, classes * classes) =
        (state.range(1) == 0 ? posterior_covariance(classes, random) : full_covariance(classes, random)).reshaped();
  for (auto _ : state)
    class_probabilities(link, classes, view(mean), view(covariance), goal, view(probability), view(error));
  state.counters["largest_error"] = error.maxCoeff();
  state.counters["within"] = static_cast<double>((error.array() <= goal.tolerance).count()) / static_cast<double>(rows);
}
BENCHMARK(class_probability_rows)
    ->ArgNames({"probit", "full", "classes", "threads"})
    ->ArgsProduct({{0, 1}, {0, 1}, {10}, {1, 2}})
    ->Iterations(1)
    ->MeasureProcessCPUTime()
    ->UseRealTime()
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace gaussmith::bench
