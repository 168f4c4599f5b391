#pragma once
// What samplers share: a Gaussian fit to begin with, and the posterior that their draws make.

#include "posterior/posterior_state.hpp"
#include "sampling/chains.hpp"
#include "sampling/mode_finder.hpp"

#include <string>
#include <vector>

namespace gaussmith {

/// A sampler's beginning: the model's coordinates and a Gaussian that its posterior looks like.
struct SamplingFit {
  std::shared_ptr<const SamplingSpace> space;
  ReferenceGaussian reference;
  SiteTotals sites;
  bool log_concave = false;
  std::string method;  ///< Which fit it is; "prior" where none could be had.
};

/// Fits ep, laplace or kl, the first that converges, on one thread, so that its bits are those of any number. Throws
/// InvalidOption where there is no Gaussian to begin with. Lends the state's model.
[[nodiscard]] SamplingFit fit_for_sampling(const Run& run, Posterior::State& state);

/// Where chains begin. Where a search finds several modes of some mass they begin there, in turns, so that chains that
/// do not get from one to another disagree and say so; else far out around the fit, every other one at a draw of the
/// prior where the posterior may have several modes.
class FirstPoints {
 public:
  FirstPoints(const Model& model, const SamplingFit& fit, const Run& run, int threads);

  [[nodiscard]] Vector of(int chain, Random& random) const;
  /// The mass of the modes, as a share of that of all by Laplace's method, that have less than a tenth of theirs among
  /// these draws: columns of eta, each taken to the nearest mode.
  [[nodiscard]] double missed_by(const Matrix& latents) const;
  /// Why modes were not searched for where there may be several; else empty.
  [[nodiscard]] const std::string& why_not_searched() const { return why_not_searched_; }

 private:
  const SamplingFit& fit_;
  std::vector<FoundMode> modes_;  // Two or more, or none.
  std::string why_not_searched_;
};

/// eta of every draw of the weights: H w + offset, stacked.
[[nodiscard]] Matrix latents_of(const Model& model, const Matrix& weights);

/// Draws of equal weight as a posterior. Moments that are known better than from them are given; else they are theirs.
struct DrawnPosterior {
  Matrix latents;         ///< N C x draws.
  Matrix weights;         ///< D C x draws; empty: the latents less the offset.
  Marginals latent = {};  ///< Mean and variance.
  Marginals of_weights = {};
};
void end_in_draws(DrawnPosterior drawn, const SamplingFit& fit, Posterior::State& state);

/// The end of a method that runs several chains: their report, no evidence.
void end_in_chains(ChainDraws draws, const FirstPoints& first, const SamplingFit& fit, Posterior::State& state);

}  // namespace gaussmith
