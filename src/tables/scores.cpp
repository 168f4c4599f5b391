#include "gaussmith/scores.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr int bins = 10;

/// How often what has these probabilities was so: `hits` is 1 or 0 in every row.
void put_reliability(const Vector& probability, const Vector& hits, Scores& out) {
  const Index rows = probability.size();
  out.reliability.resize(bins);
  for (int b = 0; b < bins; ++b) {
    out.reliability[static_cast<std::size_t>(b)].lower = static_cast<double>(b) / bins;
    out.reliability[static_cast<std::size_t>(b)].upper = static_cast<double>(b + 1) / bins;
  }
  for (Index n = 0; n < rows; ++n) {
    const int b = std::clamp(static_cast<int>(probability[n] * bins), 0, bins - 1);
    ReliabilityBin& bin = out.reliability[static_cast<std::size_t>(b)];
    ++bin.count;
    bin.mean_probability += probability[n];
    bin.frequency += hits[n];
  }
  double calibration_error = 0.0;
  for (ReliabilityBin& bin : out.reliability) {
    if (bin.count > 0) {
      calibration_error += std::abs(bin.mean_probability - bin.frequency);
      bin.mean_probability /= static_cast<double>(bin.count);
      bin.frequency /= static_cast<double>(bin.count);
    }
  }
  out.calibration_error = calibration_error / static_cast<double>(rows);
}

void score_signs(const Vector& probability, const Vector& responses, Scores& out) {
  const Index rows = responses.size();
  Vector hits(rows);
  Index errors = 0;
  double brier = 0.0;
  for (Index n = 0; n < rows; ++n) {
    const double p = probability[n];
    hits[n] = responses[n] > 0.0 ? 1.0 : 0.0;
    errors += (p > 0.5) != (hits[n] > 0.5);
    brier += (p - hits[n]) * (p - hits[n]);
  }
  out.errors = errors;
  out.brier = brier / static_cast<double>(rows);
  put_reliability(probability, hits, out);
}

void score_classes(const ClassProbabilities& classes, const Vector& responses, Scores& out) {
  const Index rows = responses.size();
  const Index count = classes.probability.cols();
  Vector winning(rows);
  Vector hits(rows);
  double brier = 0.0;
  out.confusion = Matrix::Zero(count, count);
  for (Index n = 0; n < rows; ++n) {
    const auto truth = static_cast<Index>(responses[n]);
    const Index likeliest = classes.likeliest(n);
    winning[n] = classes.probability(n, likeliest);
    hits[n] = likeliest == truth ? 1.0 : 0.0;
    brier += classes.probability.row(n).squaredNorm() - 2.0 * classes.probability(n, truth) + 1.0;
    out.confusion(truth, likeliest) += 1.0;
  }
  out.errors = rows - static_cast<Index>(hits.sum());
  out.brier = brier / static_cast<double>(rows);
  put_reliability(winning, hits, out);
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

Scores score(const Prediction& prediction, const Vector& responses, const ProbabilityGoal& goal) {
  Scores out;
  out.rows = responses.size();
  const bool labels = prediction.has_response() && prediction.likelihood()->traits().response == ResponseKind::label;
  if (labels) {
    const ClassProbabilities classes = prediction.class_probabilities(goal);
    out.log_density = classes.log_density(responses);
    out.mean_log_density = out.log_density.mean();
    score_classes(classes, responses, out);
    return out;
  }
  out.log_density = prediction.log_density(responses);
  out.mean_log_density = out.log_density.mean();
  const Vector variance = prediction.response_variance();
  if (variance.allFinite()) {
    out.mean_variance = variance.mean();
  }
  const SiteBlock& likelihood = *prediction.likelihood();
  const ResponseKind kind = likelihood.traits().response;
  if (kind == ResponseKind::sign) {
    score_signs(prediction.response_probability(), responses, out);
  } else {
    score_numbers(prediction, responses, kind, censored_rows(likelihood), out.log_density, out);
  }
  return out;
}

void add_class_bounds(const Prediction& prediction, const Vector& responses, Scores& scores) {
  const Matrix lower = prediction.class_log_density_lower();
  const Matrix at_mean = prediction.class_probabilities_at_mean();
  double sum_lower = 0.0;
  double sum_at_mean = 0.0;
  for (Index n = 0; n < responses.size(); ++n) {
    const auto truth = static_cast<Index>(responses[n]);
    sum_lower += lower(n, truth);
    sum_at_mean += std::log(at_mean(n, truth));
  }
  const auto rows = static_cast<double>(responses.size());
  scores.mean_log_density_lower = sum_lower / rows;
  scores.mean_log_probability_at_mean = sum_at_mean / rows;
}

}  // namespace gaussmith
