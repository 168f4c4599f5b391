#pragma once
// Sampling from the exact posterior of a multi-class process, as the reference of approximations: a Markov chain and
// importance sampling, both around a Gaussian q that only makes them efficient.

#include "class_data.hpp"
#include "class_likelihood.hpp"

#include <cstdint>

namespace reproduce {

/// log p(y) by importance sampling.
struct SampledEvidence {
  double log_value = 0.0;
  double standard_error = 0.0;   ///< Of log_value, from the spread of the weights.
  double upper = 0.0;            ///< log(estimate + 3.09 standard errors): above log p(y) with probability 0.999.
  double effective_draws = 0.0;  ///< (Σw)² / Σw².
};

/// What the draws say about latents and classes.
struct SampledClasses {
  gs::Vector latent_mean;      ///< Of the rows, then of the points; C numbers each, side by side.
  gs::Vector latent_variance;  ///< In the same order.
  gs::Matrix probability;      ///< Of the classes at the points, one row each.
  /// The probabilities without one of the batches of draws, for standard errors.
  std::vector<gs::Matrix> without_batch;
};

struct ImportanceSample {
  SampledEvidence evidence;
  SampledClasses classes;
};

struct ChainSample {
  SampledClasses classes;
  double draws_a_step = 0.0;  ///< Evaluations of the likelihood a step.
  double efficiency = 0.0;    ///< Effective draws a step, of the log likelihood, by the variance of batch means.
};

class ClassSampler {
 public:
  /// `q` is a posterior in site form, N(f | 0, K) exp(ν'f - ½ f'Tf), whose likelihood and prior are the target. O(((N +
  /// M) C)³) once, a Cholesky factor of (N + M) C numbers squared.
  /// Chains mix better around a q that is wider than the target: `widening` divides T and keeps the mean.
  ClassSampler(const gs::Posterior& q, const gs::Matrix& points, double widening = 1.0);

  /// Nine draws in ten from q, one from the prior, so that weights are bounded. Classes are looked at every `thinning`
  /// draws, 1, 3, 7 or another number prime to ten.
  [[nodiscard]] ImportanceSample importance(int draws, int thinning, std::uint64_t seed) const;

  /// The proposal of K. M. A. Chai, Variational multinomial logit Gaussian process, JMLR 13 (2012), appendix F:
  /// Student-t with four degrees of freedom around the mean of q with scale matrix K. Evidence alone.
  [[nodiscard]] SampledEvidence importance_student(int draws, std::uint64_t seed) const;

  /// Elliptical slice sampling around q (I. Murray, R. Adams and D. MacKay, 2010; with a Gaussian other than the
  /// prior). Classes are looked at every `thinning` steps; a tenth more steps at the start are thrown away.
  [[nodiscard]] ChainSample chain(int steps, int thinning, std::uint64_t seed) const;
  /// The same around the prior, as an independent check: slower to mix, and q is not looked at.
  [[nodiscard]] ChainSample prior_chain(int steps, int thinning, std::uint64_t seed) const;

 private:
  class Tally;
  [[nodiscard]] ChainSample run_chain(bool around_prior, int steps, int thinning, std::uint64_t seed) const;
  [[nodiscard]] gs::Matrix prior_noise(int draws, gs::Random& random) const;
  [[nodiscard]] gs::Matrix q_noise(int draws, gs::Random& random) const;
  [[nodiscard]] double log_likelihood(const double* f) const;
  /// log of exp(ν'f - ½ f'Tf).
  [[nodiscard]] double log_sites(const double* f) const;

  ClassLikelihood likelihood_;
  gs::Vector labels_;
  gs::Index rows_, points_, classes_;
  gs::SiteApproximation approximation_;
  gs::Matrix input_root_, class_root_;  // Roots of K^x over rows and points and of K^c.
  gs::Vector mean_;                     // Of q.
  gs::Vector dual_;                     // K⁻¹ mean at the rows.
  gs::Matrix root_;                     // Of the covariance of q.
  double log_site_evidence_ = 0.0;      // log ∫ N(f | 0, K) exp(ν'f - ½ f'Tf) df.
};

/// Σ log p(label) with its standard error, and the errors.
struct SampledScore {
  ClassScore score;
  double standard_error = 0.0;  ///< Of the log density, by the jackknife over batches.
};
[[nodiscard]] SampledScore score_sample(const SampledClasses& classes, const gs::Vector& labels);

}  // namespace reproduce
