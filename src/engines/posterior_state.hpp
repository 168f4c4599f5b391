#pragma once
// What a posterior keeps. Engines fill it once; afterwards it is only read.

#include "families/fit_family.hpp"
#include "gaussian/core.hpp"
#include "gaussmith/infer.hpp"

namespace gaussmith {

class Posterior::State {
 public:
  State(const Model& of_model, const Method& by_method) : model(of_model), method(by_method) {}

  Model model;  ///< First, because the core looks into it.
  Method method;
  int threads = 1;
  std::unique_ptr<GaussianCore> core;        ///< Of engines that end in the site form.
  std::unique_ptr<PosteriorGaussian> other;  ///< Of those that do not; takes precedence.
  std::unique_ptr<const FamilyFit> family;   ///< Of those with a constrained covariance: what the gradient needs.
  SiteApproximation sites;
  LatentPoint point;  ///< The mean of q in the Gaussian's coordinates.
  Marginals latent;
  Vector slack;  ///< 1 - tau v of every row, without cancellation: v / slack is the variance without the row's site.
  Evidence log_evidence;
  Report report;

  /// The Gaussian that predicts.
  [[nodiscard]] const PosteriorGaussian& gaussian() const { return other ? *other : *core; }
};

/// Gives the state the core of its model, for engines that end in the site form.
void build_core(const Run& run, Posterior::State& state);

}  // namespace gaussmith
