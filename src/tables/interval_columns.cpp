// Intervals of the probability, the rate or the mean that eta stands for.

#include "gaussmith/errors.hpp"
#include "gaussmith/table_model.hpp"
#include "tables/mixture_quantile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Beyond it e^eta would not be finite.
constexpr double largest_exponent = 700.0;

/// What a value of eta stands for, an increasing function of it.
struct Meaning {
  std::string name;
  std::function<Vector(const Vector& eta)> at;
  /// Its expectation under Gaussians of eta, where predictions have no column for that already.
  std::function<Vector(const Marginals& eta)> expected = {};
};

Meaning meaning_of(const Sites& likelihood) {
  const LikelihoodInfo* info = likelihood ? find_likelihood(likelihood->traits().name) : nullptr;
  const auto exponential = [](const Vector& eta) { return Vector(eta.array().min(largest_exponent).exp()); };
  // A Gaussian of no width: what the likelihood says at eta itself.
  const auto prediction_at = [likelihood](const Vector& eta) {
    return Prediction({eta, Vector::Zero(eta.size())}, likelihood);
  };
  if (info != nullptr && info->traits.response == ResponseKind::sign)
    return {"probability", [=](const Vector& eta) { return prediction_at(eta).response_probability(); }};
  const auto expected_exponential = [=](const Marginals& eta) { return exponential(eta.mean + 0.5 * eta.variance); };
  if (info != nullptr &&
      (info->link == Link::rate || (info->link == Link::log && info->traits.response == ResponseKind::count)))
    return {"rate", exponential, expected_exponential};
  if (info != nullptr && info->link == Link::log) return {"mean", exponential};
  // Counts that are neither rates nor of two classes are successes of so many trials.
  if (info != nullptr && info->traits.response == ResponseKind::count)
    return {"probability", [](const Vector& eta) { return Vector((1.0 + (-eta.array()).exp()).inverse()); },
            [](const Marginals& eta) {
              const Sites one_trial = observe("bernoulli-logit", Vector::Ones(eta.mean.size()));
              return Prediction(eta, one_trial).response_probability();
            }};
  return {"latent", [](const Vector& eta) { return eta; }};
}

}  // namespace

std::vector<Column> interval_columns(const Prediction& prediction, double level) {
  if (!(level > 0.0 && level < 1.0))
    throw InvalidOption(fmt::format("the level {} of an interval is not strictly between 0 and 1", level));
  const Meaning meaning = meaning_of(prediction.likelihood());
  std::vector<Marginals> parts;
  for (const Prediction& part : prediction.parts())
    parts.push_back({part.latent_mean(), part.latent_variance().cwiseMax(0.0)});
  if (parts.empty()) parts.push_back({prediction.latent_mean(), prediction.latent_variance().cwiseMax(0.0)});
  const Vector weights = prediction.parts().empty() ? one(1.0) : prediction.part_weights();
  const auto quantile = [&](double at) {
    Vector eta(prediction.latent_mean().size());
    for (Index i = 0; i < eta.size(); ++i) eta(i) = mixture_quantile(parts, weights, i, at);
    return eta;
  };
  std::vector<Column> columns;
  if (meaning.expected) {
    Vector expected = Vector::Zero(prediction.latent_mean().size());
    for (std::size_t k = 0; k < parts.size(); ++k)
      expected += weights(static_cast<Index>(k)) * meaning.expected(parts[k]);
    columns.push_back(numeric_column(meaning.name, std::move(expected)));
  }
  columns.push_back(numeric_column(meaning.name + "_lower", meaning.at(quantile(0.5 - 0.5 * level))));
  columns.push_back(numeric_column(meaning.name + "_upper", meaning.at(quantile(0.5 + 0.5 * level))));
  return columns;
}

}  // namespace gaussmith
