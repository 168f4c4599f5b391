#include "gaussmith/scores.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr int bins = 10;

void score_signs(const Vector& probability, const Vector& responses, Scores& out) {
  const Index rows = responses.size();
  out.reliability.resize(bins);
  Index errors = 0;
  double brier = 0.0;
  for (int b = 0; b < bins; ++b) {
    out.reliability[static_cast<std::size_t>(b)].lower = static_cast<double>(b) / bins;
    out.reliability[static_cast<std::size_t>(b)].upper = static_cast<double>(b + 1) / bins;
  }
  for (Index n = 0; n < rows; ++n) {
    const double p = probability[n];
    const double y = responses[n] > 0.0 ? 1.0 : 0.0;
    errors += (p > 0.5) != (y > 0.5);
    brier += (p - y) * (p - y);
    const int b = std::clamp(static_cast<int>(p * bins), 0, bins - 1);
    ReliabilityBin& bin = out.reliability[static_cast<std::size_t>(b)];
    ++bin.count;
    bin.mean_probability += p;
    bin.frequency += y;
  }
  double calibration_error = 0.0;
  for (ReliabilityBin& bin : out.reliability) {
    if (bin.count > 0) {
      calibration_error += std::abs(bin.mean_probability - bin.frequency);
      bin.mean_probability /= static_cast<double>(bin.count);
      bin.frequency /= static_cast<double>(bin.count);
    }
  }
  out.errors = errors;
  out.brier = brier / static_cast<double>(rows);
  out.calibration_error = calibration_error / static_cast<double>(rows);
}

void score_numbers(const Prediction& prediction, const Vector& responses, ResponseKind kind, const Vector& censored,
                   const Vector& log_density, Scores& out) {
  const Index rows = responses.size();
  out.censored = (censored.array() > 0.5).count();
  const Index observed = rows - out.censored;
  if (observed == 0) {
    return;
  }
  Vector centre = prediction.response_mean();
  out.median_used = !centre.allFinite();
  if (out.median_used) {
    // Where a response is eta and symmetric noise, its median is the latent mean (of a mixture: the average of its
    // parts' medians).
    const LikelihoodInfo* known =
        prediction.likelihood() ? find_likelihood(prediction.likelihood()->traits().name) : nullptr;
    const bool symmetric = known != nullptr && known->link == Link::identity;
    centre = symmetric ? prediction.latent_mean() : prediction.response_quantile(0.5);
  }
  Vector position = prediction.response_cdf(responses);
  if (kind == ResponseKind::count) {
    position.array() -= 0.5 * log_density.array().exp();
  }
  double squares = 0.0;
  double absolute = 0.0;
  out.coverage = {{0.5, 0.0}, {0.8, 0.0}, {0.95, 0.0}};
  for (Index n = 0; n < rows; ++n) {
    if (censored.size() > 0 && censored[n] > 0.5) {
      continue;
    }
    const double error = responses[n] - centre[n];
    squares += error * error;
    absolute += std::abs(error);
    for (Coverage& interval : out.coverage) {
      interval.share += std::abs(position[n] - 0.5) <= 0.5 * interval.level;
    }
  }
  const auto count = static_cast<double>(observed);
  out.mae = absolute / count;
  if (!out.median_used) {
    out.rmse = std::sqrt(squares / count);
  }
  for (Coverage& interval : out.coverage) {
    interval.share /= count;
  }
}

}  // namespace

std::optional<double> Scores::error_rate() const {
  if (!errors) {
    return std::nullopt;
  }
  return static_cast<double>(*errors) / static_cast<double>(rows);
}

Scores score(const Prediction& prediction, const Vector& responses) {
  Scores out;
  out.rows = responses.size();
  const Vector log_density = prediction.log_density(responses);
  out.mean_log_density = log_density.mean();
  const Vector variance = prediction.response_variance();
  if (variance.allFinite()) {
    out.mean_variance = variance.mean();
  }
  const SiteBlock& likelihood = *prediction.likelihood();
  const ResponseKind kind = likelihood.traits().response;
  if (kind == ResponseKind::sign) {
    score_signs(prediction.response_probability(), responses, out);
  } else {
    score_numbers(prediction, responses, kind, censored_rows(likelihood), log_density, out);
  }
  return out;
}

}  // namespace gaussmith
