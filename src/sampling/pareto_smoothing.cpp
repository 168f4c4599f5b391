#include "sampling/pareto_smoothing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace gaussmith {

namespace {

constexpr Index fewest = 5;
/// Observations that the prior shape 1/2 is worth.
constexpr double prior_observations = 10.0;
/// Log weights that differ by less than this are one weight.
constexpr double no_difference = 1e-10;

}  // namespace

ParetoTail fit_pareto(ConstSpan x) {
  // theta = k / scale (negated) has a prior that depends on the data; the posterior mean over a grid of quantiles of
  // it.
  const auto n = static_cast<double>(x.size());
  const int grid = 30 + static_cast<int>(std::sqrt(n));
  const double largest = x.back();
  const double quarter = x[static_cast<std::size_t>(std::max(0.0, std::floor(n / 4.0 + 0.5) - 1.0))];
  constexpr double prior_scale = 3.0;
  const auto shape_at = [&](double theta) {
    double sum = 0.0;
    for (const double excess : x) sum += std::log1p(-theta * excess);
    return sum / n;
  };
  std::vector<double> theta(static_cast<std::size_t>(grid));
  std::vector<double> log_likelihood(theta.size());
  for (int j = 0; j < grid; ++j) {
    const auto at = static_cast<std::size_t>(j);
    theta[at] = 1.0 / largest + (1.0 - std::sqrt(grid / (j + 0.5))) / (prior_scale * quarter);
    const double shape = shape_at(theta[at]);
    log_likelihood[at] = n * (std::log(-theta[at] / shape) - shape - 1.0);
  }
  double mean = 0.0;
  for (std::size_t j = 0; j < theta.size(); ++j) {
    double sum = 0.0;
    for (const double other : log_likelihood) sum += std::exp(other - log_likelihood[j]);
    mean += theta[j] / sum;
  }
  const double shape = shape_at(mean);
  return {shape, -shape / mean};
}

Index tail_size(Index count) {
  const auto s = static_cast<double>(count);
  return static_cast<Index>(std::ceil(std::min(0.2 * s, 3.0 * std::sqrt(s))));
}

double smooth_tail(Span log_weights, double cutoff) {
  const auto size = static_cast<Index>(log_weights.size());
  if (size < fewest) return std::numeric_limits<double>::infinity();
  const double largest = log_weights.back();
  if (!std::isfinite(largest)) return std::numeric_limits<double>::infinity();
  if (largest - cutoff < no_difference) return -std::numeric_limits<double>::infinity();
  const double threshold = std::exp(cutoff - largest);
  std::vector<double> excesses;
  for (const double value : log_weights) {
    const double excess = std::exp(value - largest) - threshold;
    if (excess > 0.0) excesses.push_back(excess);
  }
  if (static_cast<Index>(excesses.size()) < fewest) return std::numeric_limits<double>::infinity();
  const ParetoTail raw = fit_pareto(excesses);
  const auto n = static_cast<double>(excesses.size());
  const double shape = (n * raw.shape + 0.5 * prior_observations) / (n + prior_observations);
  if (!std::isfinite(shape) || !(raw.scale > 0.0)) return std::numeric_limits<double>::infinity();
  for (Index i = 0; i < size; ++i) {
    const double p = (static_cast<double>(i) + 0.5) / static_cast<double>(size);
    const double excess =
        std::abs(shape) < 1e-12 ? -raw.scale * std::log1p(-p) : raw.scale * std::expm1(-shape * std::log1p(-p)) / shape;
    log_weights[static_cast<std::size_t>(i)] = std::min(largest, largest + std::log(threshold + excess));
  }
  return shape;
}

}  // namespace gaussmith
