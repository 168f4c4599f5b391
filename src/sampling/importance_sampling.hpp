#pragma once
// Importance sampling around one or several Gaussians: draws from multivariate t's, Pareto-smoothed weights, and from
// them the evidence and the mean and sd of every weight and latent, each with its standard error.
//
//   ImportanceSampler sampler(model, {{.gaussian = &around_q, .share = 0.5}, {.gaussian = &mode, .share = 0.5}}, {});
//   do sampler.draw(4000); while (!decided(sampler.estimate()) && sampler.draws() + 4000 <= 40000);
//
// Draws are made in blocks that depend on seed and number alone, so that any number of threads gives the same bytes.

#include "gaussmith/report.hpp"
#include "sampling/reference_gaussian.hpp"
#include "sampling/site_totals.hpp"

#include <vector>

namespace gaussmith {

/// One part of the mixture that is drawn from: a t around a Gaussian, which is lent.
struct ProposalPart {
  const ReferenceGaussian* gaussian;
  double share = 1.0;  ///< Positive; shares are scaled to sum to one.
};

struct ImportanceOptions {
  Index most = 40000;    ///< Draws that will be asked for at most.
  double degrees = 0.0;  ///< Degrees of freedom; 0: max(5, k / 4) in k dimensions.
  double scale = 1.15;   ///< The t's scale matrix, in units of the Gaussian's covariance.
  std::uint64_t seed = 0;
  int threads = 1;
};

/// Means and sds with standard errors: of the mean in units of the sd, and of log sd.
struct MomentEstimates {
  Vector mean, sd, mean_error, log_sd_error;
};

struct ImportanceEstimate {
  Index draws = 0;
  double pareto_k = 0.0;        ///< Shape of the weights' tail; -inf for equal weights, inf where there is no telling.
  double effective = 0.0;       ///< 1 / sum of squared weights.
  double log_evidence = 0.0;    ///< From raw weights; -inf where no draw has any density.
  double evidence_error = 0.0;  ///< Relative standard error of the evidence.
  double smoothed_evidence = 0.0, smoothed_error = 0.0;  ///< The same from smoothed weights.
  MomentEstimates latent, weights;                       ///< Stacked as in SamplingSpace.
};

class ImportanceSampler {
 public:
  /// All parts live in one space, that of the model; model and parts are lent. Throws std::invalid_argument without
  /// parts.
  ImportanceSampler(const Model& model, std::vector<ProposalPart> parts, const ImportanceOptions& options);

  /// Makes `count` draws more, rounded up to hundreds. Costs a product with a root of V and N sites each.
  void draw(Index count);
  [[nodiscard]] Index draws() const { return draws_; }
  [[nodiscard]] ImportanceEstimate estimate() const;

  /// Draws of w with equal weights, by systematic resampling among those made: D C x count. Makes the draws again.
  [[nodiscard]] Matrix resample_weights(Index count) const;

 private:
  static constexpr Index block = 100;
  /// The draws of one block: eta, and w where that is something else; log weights where asked for.
  void make_block(Index number, Matrix& latents, Matrix& weights, Span log_weights) const;
  /// The log density of the mixture at points with these eta and log p(v), without p(v)'s constants.
  void proposal_density(const Matrix& latents, const Vector& log_prior, Vector& out) const;
  /// Blocks [first, last): standardised latents above standardised weights, a column a draw, and log weights.
  void make_round(Index first, Index last, Matrix& values, std::vector<double>& log_weights) const;
  void keep(const Matrix& values, const std::vector<double>& log_weights);
  void add_to_sums(const std::vector<const double*>& columns, const std::vector<double>& log_weights);

  const Model* model_;
  SiteTotals sites_;
  std::vector<ProposalPart> parts_;
  std::vector<Index> counts_;  // Of the parts in a block.
  ImportanceOptions options_;
  double degrees_;
  Index draws_ = 0;
  Vector centre_, unit_;  // Of latents and weights, by which they are standardised.

  std::vector<double> log_weights_;  // Of all draws.
  // Draws whose weights may still be smoothed.
  Matrix pool_;
  std::vector<double> pool_weights_;
  Index pool_size_;  // At most.
  // Sums over the others, in units of exp(log_unit_): w, w y, w y^2 and w^2 y^p, p = 0, ..., 4.
  double log_unit_;
  double sum_ = 0.0, squares_ = 0.0;
  Matrix sums_;  // A column for each of w y, w y^2, w^2 y, ..., w^2 y^4.
};

}  // namespace gaussmith
