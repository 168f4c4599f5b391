#pragma once
// The linear classifier of the labels bought so far: its model, its fit from the last one, its Gaussian.

#include "active/weight_gaussian.hpp"
#include "gaussmith/active.hpp"

namespace gaussmith {

/// Throws InvalidOption or InvalidModel for what cannot be run.
void check_active(const ActivePool& pool, const ActiveTest& test, const ActiveOptions& options);
void check_active_label(double label, const char* of, Index row);

/// Number of sites that the prior adds behind those of the rows.
[[nodiscard]] Index prior_sites(const ActivePrior& prior, Index dimension);

/// bernoulli-logit sites on the selected rows under the prior; Laplace weights are sites y = 0 on identity rows.
[[nodiscard]] Model classifier_model(const Design& pool, const std::vector<Index>& selected,
                                     const std::vector<double>& labels, const ActivePrior& prior);

/// The fit of a model whose rows have these sites already, as far as there are any.
[[nodiscard]] Posterior fit_from(const Model& model, const Method& method, const SiteApproximation& sites,
                                 const Run& run);

/// The Gaussian over the weights that sites of the selected rows, and those of the prior behind them, make.
[[nodiscard]] WeightGaussian classifier_gaussian(const Design& pool, const std::vector<Index>& selected,
                                                 const SiteApproximation& sites, const ActivePrior& prior,
                                                 const GaussianAccess& access);

/// P(y = 1) when eta ~ N(mean, variance).
[[nodiscard]] Vector class_probabilities(const Marginals& latent, int threads);

/// Share of wrong classes and mean -log P(label) of test rows; P = 1/2 is half a mistake.
struct TestScores {
  double error = 0.0;
  double log_loss = 0.0;
};
[[nodiscard]] TestScores test_scores(const WeightGaussian& gaussian, const ActiveTest& test, int threads);

}  // namespace gaussmith
