#pragma once
// The rule that turns what was measured into a verdict (docs/trust.md).

#include "gaussmith/trust.hpp"
#include "sampling/importance_sampling.hpp"

#include <limits>

namespace gaussmith {

/// What a fit says, and how it ended.
struct FitClaims {
  double log_evidence = 0.0;
  Vector latent_mean, latent_sd, weights_mean, weights_sd;  ///< Weights are left out where they are the latents.
  Index width = 1;                                          ///< Latents a row.
  bool converged = false;
  bool substituted = false;  ///< EP with a lowered power.
};
[[nodiscard]] FitClaims claims_of(const Posterior& posterior, bool weights_are_latents);

/// What else counts.
struct Circumstances {
  bool log_concave = false;
  bool modes_known = false;            ///< Log-concave, or searched for.
  std::string why_modes_unknown = {};  ///< Where they are not; empty where nobody asked.
  double unexplained = 0.0;            ///< Share of the rows that every mode found outvotes.
  bool few_rows = false;               ///< Fewer than twice the weights: being outvoted is nothing unusual there.
  const SecondOrder* next = nullptr;
  bool last_round = false;  ///< No more draws will be made: past the reach of the check the screen answers.
  double evidence_bound = -std::numeric_limits<double>::infinity();  ///< The evidence is not below this.
};

/// Shapes of the tail of the weights of draws: up to the first averages mean what they say, beyond the second nothing.
constexpr double good_tail = 0.5, usable_tail = 0.7;
/// Effective draws below which sds of many latents cannot be told from noise.
constexpr double check_reach = 1000.0;
/// Effective draws below which standard errors are themselves too uncertain to condemn a fit.
constexpr double fewest_to_condemn = 50.0;

struct Judgement {
  Verdict evidence = Verdict::caution, marginals = Verdict::caution;
  std::string evidence_reason, marginals_reason, further;
  bool decided = false;  ///< By what was measured, whatever else counts.
  ImportanceCheck check;
  [[nodiscard]] Verdict both() const;
};

/// A further lower bound on the evidence: no end of the interval lies below it.
void raise_interval(double bound, TrustCard& card);

/// Compares claims with an estimate.
[[nodiscard]] Judgement judge(const FitClaims& claims, const ImportanceEstimate& estimate,
                              const Circumstances& circumstances);

/// The verdict where there are no draws: that of the screen for log-concave sites, else caution.
[[nodiscard]] Judgement judge_without_draws(const FitClaims& claims, const Circumstances& circumstances,
                                            const std::string& why);

}  // namespace gaussmith
