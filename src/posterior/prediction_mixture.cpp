#include "posterior/prediction_mixture.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "sites/quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

ConstSpan entry(const Vector& v, Index i) { return {v.data() + i, 1}; }

/// P(Y <= y) of the mixture at one point.
double mixture_cdf(const std::vector<Prediction>& parts, const Vector& weights, Index point, double y) {
  double sum = 0.0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    double value = 0.0;
    parts[k].likelihood()->response_cdf(point, entry(parts[k].latent_mean(), point),
                                        entry(parts[k].latent_variance(), point), ConstSpan(&y, 1), Span(&value, 1));
    sum += weights(static_cast<Index>(k)) * value;
  }
  return sum;
}

std::size_t heaviest(const Vector& weights) {
  Index largest = 0;
  weights.maxCoeff(&largest);
  return static_cast<std::size_t>(largest);
}

}  // namespace

void check_mixture(const std::vector<Prediction>& parts, const Vector& weights) {
  if (parts.empty() || weights.size() != static_cast<Index>(parts.size()))
    throw InvalidModel(
        fmt::format("a mixture of {} predictions has {} weights; it needs one for each, and at least one", parts.size(),
                    weights.size()));
  for (const double weight : weights)
    if (!(weight > 0.0) || !std::isfinite(weight))
      throw InvalidModel(fmt::format("a weight of a mixture must be positive and finite, found {}", weight));
  const Prediction& first = parts.front();
  for (const Prediction& part : parts) {
    if (part.latent_mean().size() != first.latent_mean().size())
      throw InvalidModel(fmt::format("the parts of a mixture predict {} and {} points", first.latent_mean().size(),
                                     part.latent_mean().size()));
    if (!part.parts().empty()) throw InvalidModel("a part of a mixture must not be a mixture itself");
    if (part.has_response() != first.has_response() ||
        (first.has_response() && part.likelihood()->traits().name != first.likelihood()->traits().name))
      throw InvalidModel("the parts of a mixture must have the same likelihood");
  }
}

Marginals total_moments(const std::vector<const Marginals*>& parts, const Vector& weights) {
  const Index size = parts.front()->mean.size();
  Marginals out{Vector::Zero(size), Vector::Zero(size)};
  for (std::size_t k = 0; k < parts.size(); ++k) out.mean += weights(static_cast<Index>(k)) * parts[k]->mean;
  for (std::size_t k = 0; k < parts.size(); ++k)
    out.variance += weights(static_cast<Index>(k)) *
                    (parts[k]->variance.array() + (parts[k]->mean - out.mean).array().square()).matrix();
  if (parts.front()->covariance.size() == 0) return out;
  const Index c = parts.front()->covariance.size() / size;
  out.covariance.setZero(parts.front()->covariance.size());
  for (std::size_t k = 0; k < parts.size(); ++k)
    for (Index i = 0; i < size / c; ++i) {
      const Vector apart = parts[k]->mean.segment(i * c, c) - out.mean.segment(i * c, c);
      Eigen::Map<Matrix>(out.covariance.data() + i * c * c, c, c) +=
          weights(static_cast<Index>(k)) *
          (Eigen::Map<const Matrix>(parts[k]->covariance.data() + i * c * c, c, c) + apart * apart.transpose());
    }
  return out;
}

Marginals mixture_moments(const std::vector<Prediction>& parts, const Vector& weights) {
  std::vector<Marginals> responses;
  std::vector<const Marginals*> lent;
  responses.reserve(parts.size());
  for (const Prediction& part : parts) {
    responses.push_back({part.response_mean(), part.response_variance()});
    lent.push_back(&responses.back());
  }
  return total_moments(lent, weights);
}

Vector mixture_quantile(const std::vector<Prediction>& parts, const Vector& weights, double level) {
  const Prediction& main = parts[heaviest(weights)];
  const ResponseKind kind = main.likelihood()->traits().response;
  Vector out = main.response_quantile(level);  // A start nearby.
  for (Index i = 0; i < out.size(); ++i) {
    const bool positive = kind == ResponseKind::positive;
    const double start = positive ? std::log(out(i)) : out(i);
    const double step =
        positive ? 0.05 : 0.1 * std::sqrt(main.latent_variance()(i)) + 1e-3 * std::max(1e-3, std::abs(start));
    out(i) = response_quantile_of(
        kind, [&](double y) { return mixture_cdf(parts, weights, i, y); }, level, start, step);
  }
  return out;
}

Vector mixture_log_density(const std::vector<Prediction>& parts, const Vector& weights, const Vector& y) {
  Matrix values(y.size(), weights.size());
  for (Index k = 0; k < weights.size(); ++k)
    values.col(k) = parts[static_cast<std::size_t>(k)].log_density(y).array() + std::log(weights(k));
  Vector out(y.size());
  for (Index i = 0; i < y.size(); ++i) {
    const double largest = values.row(i).maxCoeff();
    out(i) = std::isfinite(largest) ? largest + std::log((values.row(i).array() - largest).exp().sum()) : largest;
  }
  return out;
}

LeaveOneOut mixture_left_out(const std::vector<const LeaveOneOut*>& parts, const Vector& weights) {
  const Index rows = parts.front()->log_density.size();
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  const Index values = parts.front()->latent.mean.size();
  const Index width = values / rows;
  LeaveOneOut out{{Vector::Constant(values, none), Vector::Constant(values, none)}, Vector::Constant(rows, none)};
  std::vector<const LeaveOneOut*> heavy;
  std::vector<double> log_weights;
  for (std::size_t k = 0; k < parts.size(); ++k)
    if (const double weight = weights(static_cast<Index>(k)); weight > 0.0) {
      heavy.push_back(parts[k]);
      log_weights.push_back(std::log(weight));
    }
  Vector shares(static_cast<Index>(heavy.size()));
  for (Index n = 0; n < rows; ++n) {
    for (Index k = 0; k < shares.size(); ++k)
      shares(k) = log_weights[static_cast<std::size_t>(k)] - heavy[static_cast<std::size_t>(k)]->log_density(n);
    if (!shares.allFinite()) continue;
    const double largest = shares.maxCoeff();
    shares = (shares.array() - largest).exp();
    const double total = shares.sum();
    out.log_density(n) = -largest - std::log(total);
    for (Index i = n * width; i < (n + 1) * width; ++i) {
      double mean = 0.0;
      for (Index k = 0; k < shares.size(); ++k)
        mean += shares(k) / total * heavy[static_cast<std::size_t>(k)]->latent.mean(i);
      double variance = 0.0;
      for (Index k = 0; k < shares.size(); ++k) {
        const Marginals& part = heavy[static_cast<std::size_t>(k)]->latent;
        variance += shares(k) / total * (part.variance(i) + (part.mean(i) - mean) * (part.mean(i) - mean));
      }
      out.latent.mean(i) = mean;
      out.latent.variance(i) = variance;
    }
  }
  return out;
}

Matrix mixture_samples(const std::vector<Prediction>& parts, const Vector& weights, int draws, std::uint64_t seed) {
  Vector cumulative(weights.size());
  double sum = 0.0;
  for (Index k = 0; k < weights.size(); ++k) cumulative(k) = sum += weights(k);
  Random random(seed);
  const auto draw_part = [&] {
    const auto place = std::upper_bound(cumulative.begin(), cumulative.end() - 1, sum * random.uniform());
    return static_cast<std::size_t>(place - cumulative.begin());
  };
  Matrix out(parts.front().points(), draws);
  if (parts.front().latents() > 1) {
    // Draws of every part, of which each point takes one.
    std::vector<Matrix> all;
    all.reserve(parts.size());
    for (const Prediction& part : parts) all.push_back(part.response_samples(draws, random.bits()));
    for (int d = 0; d < draws; ++d)
      for (Index i = 0; i < out.rows(); ++i) out(i, d) = all[draw_part()](i, d);
    return out;
  }
  for (int d = 0; d < draws; ++d)
    for (Index i = 0; i < out.rows(); ++i) {
      const Prediction& part = parts[draw_part()];
      const double eta = part.latent_mean()(i) + std::sqrt(part.latent_variance()(i)) * random.normal();
      double y = 0.0;
      part.likelihood()->response_sample(i, ConstSpan(&eta, 1), random, Span(&y, 1));
      out(i, d) = y;
    }
  return out;
}

Prediction predict_mixture(const std::vector<WeightedGaussian>& mixture, const PredictionPoints& points, int threads) {
  std::vector<Prediction> parts;
  Vector weights(static_cast<Index>(mixture.size()));
  for (std::size_t k = 0; k < mixture.size(); ++k) {
    parts.push_back(Predictor(mixture[k].fitted, threads).predict(points, threads));
    weights(static_cast<Index>(k)) = mixture[k].weight;
  }
  return Prediction::mixture(std::move(parts), std::move(weights));
}

}  // namespace gaussmith
