#include "gaussmith/errors.hpp"
#include "gaussmith/predict.hpp"
#include "linalg/dense.hpp"
#include "posterior/prediction_mixture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gaussmith {

const SiteBlock& Prediction::response() const {
  if (!likelihood_) throw InvalidModel(missing_);
  return *likelihood_;
}

Prediction Prediction::mixture(std::vector<Prediction> parts, Vector weights) {
  check_mixture(parts, weights);
  weights /= weights.sum();
  std::vector<const Marginals*> latent;
  latent.reserve(parts.size());
  for (const Prediction& part : parts) latent.push_back(&part.latent_);
  Prediction out(total_moments(latent, weights), parts.front().likelihood_, parts.front().missing_);
  out.parts_ = std::move(parts);
  out.part_weights_ = std::move(weights);
  return out;
}

Vector Prediction::averaged(const std::function<Vector(const Prediction&)>& quantity) const {
  Vector out = Vector::Zero(latent_.mean.size());
  for (std::size_t k = 0; k < parts_.size(); ++k) out += part_weights_(static_cast<Index>(k)) * quantity(parts_[k]);
  return out;
}

Index Prediction::latents() const {
  return latent_.covariance.size() > 0 ? latent_.covariance.size() / latent_.mean.size() : 1;
}

ClassProbabilities Prediction::class_probabilities(const ProbabilityGoal& goal) const {
  const SiteBlock& block = response();
  const Index c = block.width();
  ClassProbabilities out{Matrix::Zero(points(), c), Vector::Zero(points())};
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const double weight = part_weights_(static_cast<Index>(k));
    const ClassProbabilities part = parts_[k].class_probabilities(goal);
    out.probability += weight * part.probability;
    out.error += weight * part.error;
  }
  if (!parts_.empty()) return out;
  Matrix by_point(c, points());
  block.class_probabilities(0, view(latent_.mean), view(latent_.covariance), goal,
                            Span(by_point.data(), static_cast<std::size_t>(by_point.size())), view(out.error));
  out.probability = by_point.transpose();
  return out;
}

Matrix Prediction::class_log_density_lower() const {
  Matrix out(points(), latents());
  if (!parts_.empty()) {
    // log sum_k w_k p_k is above the average of the logarithms.
    out.setZero();
    for (std::size_t k = 0; k < parts_.size(); ++k)
      out += part_weights_(static_cast<Index>(k)) * parts_[k].class_log_density_lower();
    return out;
  }
  for (Index c = 0; c < latents(); ++c) {
    Vector value(points());
    response()
        .with(Vector::Constant(points(), static_cast<double>(c)), {})
        ->expectation(0, view(latent_.mean), view(latent_.covariance), {view(value), {}, {}});
    out.col(c) = value;
  }
  return out;
}

Matrix Prediction::class_probabilities_at_mean() const {
  Matrix out = Matrix::Zero(points(), latents());
  if (!parts_.empty()) {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      out += part_weights_(static_cast<Index>(k)) * parts_[k].class_probabilities_at_mean();
    return out;
  }
  for (Index c = 0; c < latents(); ++c) {
    Vector value(points());
    response()
        .with(Vector::Constant(points(), static_cast<double>(c)), {})
        ->log_density(0, view(latent_.mean), {view(value), {}, {}, {}});
    out.col(c) = value.array().exp();
  }
  return out;
}

Vector Prediction::response_mean() const {
  if (!parts_.empty()) return averaged(&Prediction::response_mean);
  Vector out(latent_.mean.size());
  response().response(0, view(latent_.mean), view(latent_.variance),
                      {.mean = view(out), .variance = {}, .probability = {}});
  return out;
}

Vector Prediction::response_variance() const {
  if (!parts_.empty()) return mixture_moments(parts_, part_weights_).variance;
  Vector out(latent_.mean.size());
  response().response(0, view(latent_.mean), view(latent_.variance),
                      {.mean = {}, .variance = view(out), .probability = {}});
  return out;
}

Vector Prediction::response_probability() const {
  if (response().traits().response != ResponseKind::sign) return {};
  if (!parts_.empty()) return averaged(&Prediction::response_probability);
  Vector out(latent_.mean.size());
  response().response(0, view(latent_.mean), view(latent_.variance),
                      {.mean = {}, .variance = {}, .probability = view(out)});
  return out;
}

Vector Prediction::response_quantile(double level) const {
  if (!(level > 0.0 && level < 1.0))
    throw InvalidOption(fmt::format("a quantile's level must lie strictly between 0 and 1, found {}", level));
  const SiteBlock& block = response();
  if (!parts_.empty()) return mixture_quantile(parts_, part_weights_, level);
  Vector out(latent_.mean.size());
  block.response_quantile(0, view(latent_.mean), view(latent_.variance), level, view(out));
  return out;
}

Vector Prediction::response_cdf(const Vector& y) const {
  if (y.size() != latent_.mean.size())
    throw InvalidModel(fmt::format("predict: {} responses for {} points", y.size(), latent_.mean.size()));
  if (!parts_.empty()) return averaged([&](const Prediction& part) { return part.response_cdf(y); });
  Vector out(y.size());
  response().response_cdf(0, view(latent_.mean), view(latent_.variance), view(y), view(out));
  return out;
}

Vector Prediction::log_density(const Vector& y) const {
  if (y.size() != points()) throw InvalidModel(fmt::format("predict: {} responses for {} points", y.size(), points()));
  if (!parts_.empty()) return mixture_log_density(parts_, part_weights_, y);
  if (latents() > 1) return class_log_density(y);
  SiteArguments same;
  for (const SiteParameter& p : response().parameters()) same[p.name] = p.values;
  const Sites at_y = response().with(y, same);
  Vector out(y.size());
  // log ∫ t N: the normaliser of the tilted distribution. A point without latent variance is the density itself.
  for (Index i = 0; i < y.size(); ++i) {
    const Span value(out.data() + i, 1);
    const ConstSpan mean(latent_.mean.data() + i, 1);
    if (latent_.variance(i) > 0.0)
      at_y->tilted(i, mean, ConstSpan(latent_.variance.data() + i, 1), 1.0,
                   {.log_normaliser = value, .mean = {}, .variance = {}});
    else
      at_y->log_density(i, mean, {.value = value, .first = {}, .second = {}, .third = {}});
  }
  return out;
}

Vector Prediction::class_log_density(const Vector& y) const {
  const Sites at_y = response().with(y, {});  // Checks the labels.
  return class_probabilities().log_density(y);
}

Matrix Prediction::response_samples(int draws, std::uint64_t seed) const {
  if (draws < 1) throw InvalidOption(fmt::format("draws must be at least 1, found {}", draws));
  const SiteBlock& block = response();
  if (!parts_.empty()) return mixture_samples(parts_, part_weights_, draws, seed);
  Random random(seed);
  const Index c = latents();
  Matrix out(points(), draws);
  Vector eta(latent_.mean.size());
  Vector y(points());
  std::vector<Matrix> roots;  // Of the points' covariances.
  for (Index i = 0; c > 1 && i < points(); ++i)
    roots.push_back(pivoted_cholesky(Eigen::Map<const Matrix>(latent_.covariance.data() + i * c * c, c, c)).factor);
  for (int d = 0; d < draws; ++d) {
    for (Index i = 0; c == 1 && i < eta.size(); ++i)
      eta(i) = latent_.mean(i) + std::sqrt(latent_.variance(i)) * random.normal();
    for (Index i = 0; c > 1 && i < points(); ++i) {
      const Matrix& root = roots[static_cast<std::size_t>(i)];
      Vector z(root.cols());
      for (double& value : z) value = random.normal();
      eta.segment(i * c, c) = latent_.mean.segment(i * c, c) + root * z;
    }
    block.response_sample(0, view(eta), random, view(y));
    out.col(d) = y;
  }
  return out;
}

}  // namespace gaussmith
