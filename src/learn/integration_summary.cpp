#include "learn/integration_summary.hpp"

#include "posterior/prediction_mixture.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// E[m] and E[v] + Var[m] over the points.
Marginals average(const std::vector<IntegrationSample>& samples, const Vector& weights,
                  Marginals IntegrationSample::*moments) {
  std::vector<const Marginals*> parts;
  parts.reserve(samples.size());
  for (const IntegrationSample& sample : samples) parts.push_back(&(sample.*moments));
  return total_moments(parts, weights);
}

/// The level's quantile of points smoothed by a normal kernel, drawn towards their mean first so that mean and standard
/// deviation stay what they are.
double smoothed_quantile(const Vector& places, const Vector& weights, double mean, double sd, double breadth,
                         double level) {
  if (!(sd > 0.0)) return mean;
  const double kernel = std::min(breadth, 0.8 * sd);
  const double shrink = std::sqrt(1.0 - kernel * kernel / (sd * sd));
  const auto probability = [&](double x) {
    double sum = 0.0;
    for (Index k = 0; k < places.size(); ++k)
      sum += weights(k) * 0.5 * std::erfc((mean + shrink * (places(k) - mean) - x) / (std::numbers::sqrt2 * kernel));
    return sum;
  };
  double low = mean - 40.0 * sd;
  double high = mean + 40.0 * sd;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = 0.5 * (low + high);
    (probability(middle) < level ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace

void summarise_integration(std::vector<IntegrationSample> samples, const IntegrationTarget& target,
                           const Vector& breadth, double negligible, Integrated& out) {
  const auto log_weight = [](const IntegrationSample& s) { return s.log_density + s.log_share; };
  std::stable_sort(samples.begin(), samples.end(), [&](const IntegrationSample& a, const IntegrationSample& b) {
    return log_weight(a) > log_weight(b);
  });
  const double largest = log_weight(samples.front());
  Vector weights(static_cast<Index>(samples.size()));
  for (std::size_t k = 0; k < samples.size(); ++k)
    weights(static_cast<Index>(k)) = std::exp(log_weight(samples[k]) - largest);
  const double total = weights.sum();
  out.log_evidence = largest + std::log(total);

  // All points: a light one where a row is unlikely weighs more without it.
  if (samples.front().left_out) {
    std::vector<const LeaveOneOut*> parts;
    parts.reserve(samples.size());
    for (const IntegrationSample& sample : samples) parts.push_back(&*sample.left_out);
    out.left_out = mixture_left_out(parts, weights / total);
  }

  Index kept = weights.size();
  for (double rest = weights(kept - 1); kept > 1 && rest <= negligible * total; rest += weights(kept - 1)) --kept;
  out.report.negligible = static_cast<int>(weights.size() - kept);
  weights = (weights.head(kept) / weights.head(kept).sum()).eval();
  samples.erase(samples.begin() + kept, samples.end());
  out.report.effective = 1.0 / weights.squaredNorm();

  out.latent = average(samples, weights, &IntegrationSample::latent);
  out.weights = average(samples, weights, &IntegrationSample::weights);
  for (std::size_t i = 0; i < target.free().size(); ++i) {
    const auto p = static_cast<Index>(i);
    Vector places(kept);
    for (Index k = 0; k < kept; ++k) places(k) = samples[static_cast<std::size_t>(k)].place(p);
    const double mean = weights.dot(places);
    const double sd = std::sqrt(weights.dot((places.array() - mean).square().matrix()));
    const auto bound = [&](double level) {
      const double place = smoothed_quantile(places, weights, mean, sd, breadth(p), level);
      return target.value(p, std::clamp(place, target.lower()(p), target.upper()(p)));
    };
    out.parameters.push_back({target.free()[i].name, mean, sd, bound(0.025), bound(0.975), true});
  }
  for (std::size_t k = 0; k < samples.size(); ++k) {
    IntegrationSample& s = samples[k];
    out.points.push_back({{weights(static_cast<Index>(k)), target.values(s.place), std::move(s.fitted)},
                          s.log_density,
                          std::move(s.latent)});
  }
}

}  // namespace gaussmith
