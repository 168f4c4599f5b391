#include "trust/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

// The rule, see docs/trust.md for where its numbers come from.
constexpr double errors_allowed = 3.0;
/// Nats: what is trusted leaves room below what is bad.
constexpr double trusted_evidence = 0.7, bad_evidence = 1.0;
/// Of means in standard deviations; of log sd, a fit's over the truth, below and above.
constexpr double mean_limit = 0.5;
constexpr double sd_too_small = 0.22, sd_too_large = 0.18;
constexpr double unexplained_rows = 0.25, unexplained_half = 0.5;
/// An average of weights without bias is e^6.9 times the evidence once in a thousand runs at most (Markov's inequality,
/// for all rounds together), whatever the tail of the weights.
const double rarely_above = std::log(1000.0);

/// A difference with its standard error, and where it stands.
struct Gap {
  double value = 0.0, error = 0.0;
  const char* kind = "row";
  Index at = -1;
  [[nodiscard]] std::string place(Index width) const {
    if (at < 0) return "";
    return width == 1 ? fmt::format("{} {}", kind, at) : fmt::format("{} {}, latent {}", kind, at / width, at % width);
  }
};

struct Gaps {
  Gap mean;  ///< That comes nearest to its limit, errors included.
  Gap log_sd;
  bool mean_sure = true, sd_sure = true;  ///< Within the limits with errors to spare.
  bool mean_bad = false, sd_bad = false;  ///< Beyond them whatever the errors.
};

double over_limit(double log_ratio, double error) {
  return log_ratio >= 0.0 ? (log_ratio + errors_allowed * error) / sd_too_large
                          : (-log_ratio + errors_allowed * error) / sd_too_small;
}

double surely_over(double log_ratio, double error) {
  return log_ratio >= 0.0 ? (log_ratio - errors_allowed * error) / sd_too_large
                          : (-log_ratio - errors_allowed * error) / sd_too_small;
}

void compare(const Vector& mean, const Vector& sd, const MomentEstimates& truth, const char* kind, Gaps& out) {
  for (Index i = 0; i < mean.size(); ++i) {
    if (truth.sd(i) == 0.0 && sd(i) == 0.0) continue;
    const Gap shift{(mean(i) - truth.mean(i)) / truth.sd(i), truth.mean_error(i), kind, i};
    const Gap ratio{std::log(sd(i) / truth.sd(i)), truth.log_sd_error(i), kind, i};
    const double far = std::abs(shift.value) + errors_allowed * shift.error;
    out.mean_sure = out.mean_sure && far <= mean_limit;
    out.sd_sure = out.sd_sure && over_limit(ratio.value, ratio.error) <= 1.0;
    if (std::abs(shift.value) - errors_allowed * shift.error > mean_limit) {
      if (!out.mean_bad || std::abs(shift.value) > std::abs(out.mean.value)) out.mean = shift;
      out.mean_bad = true;
    } else if (!out.mean_bad && (out.mean.at < 0 || far > std::abs(out.mean.value) + errors_allowed * out.mean.error)) {
      out.mean = shift;
    }
    if (surely_over(ratio.value, ratio.error) > 1.0) {
      if (!out.sd_bad || std::abs(ratio.value) > std::abs(out.log_sd.value)) out.log_sd = ratio;
      out.sd_bad = true;
    } else if (!out.sd_bad && (out.log_sd.at < 0 ||
                               over_limit(ratio.value, ratio.error) > over_limit(out.log_sd.value, out.log_sd.error))) {
      out.log_sd = ratio;
    }
  }
}

/// The screen of log-concave posteriors: small second orders.
struct Screen {
  bool known = false, evidence = false, marginals = false;
};

Screen screen(const SecondOrder* next) {
  constexpr double small_evidence = 0.15, small_mean = 0.45, small_variance = 0.5;
  if (next == nullptr) return {};
  const auto largest = [](const Vector& v) { return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0.0; };
  const double mean = std::max(largest(next->mean_shift), largest(next->weights_mean_shift));
  const double variance = std::max(largest(next->variance_shift), largest(next->weights_variance_shift));
  return {true, std::abs(next->evidence) <= small_evidence, mean <= small_mean && variance <= small_variance};
}

/// Past the reach of the check.
void use_screen(const Circumstances& circumstances, const std::string& why, Judgement& out) {
  if (!circumstances.log_concave) {
    out.further = why + ", and sites that are not log-concave have no other check";
    return;
  }
  const Screen passed = screen(circumstances.next);
  if (!passed.known) {
    out.further = why + ", and there is no second order to go by";
    return;
  }
  out.further = why + "; what is undecided is judged by second order instead";
  if (out.evidence == Verdict::caution) {
    if (passed.evidence) out.evidence = Verdict::trust;
    out.evidence_reason = fmt::format("evidence: second order puts it {:+.2f} nats from the fit's{}",
                                      circumstances.next->evidence, passed.evidence ? "" : ", too much to go by");
  }
  if (out.marginals == Verdict::caution) {
    if (passed.marginals) out.marginals = Verdict::trust;
    out.marginals_reason = passed.marginals ? "marginals: second order predicts small shifts of means and variances"
                                            : "marginals: second order predicts shifts too large to go by";
  }
}

/// An evidence that is too low is shown by any bound, also where draws are too few to say by how much.
void use_bound(const FitClaims& claims, double bound, Judgement& out) {
  if (out.evidence == Verdict::do_not_trust || !(bound - claims.log_evidence > bad_evidence)) return;
  out.evidence = Verdict::do_not_trust;
  out.evidence_reason +=
      fmt::format("; a bound says that the fit's is at least {:.1f} nats too low", bound - claims.log_evidence);
}

/// What no measurement makes up for.
void hold_back(const FitClaims& claims, const Circumstances& circumstances, Judgement& out) {
  const auto add = [&](const std::string& text) { out.further += (out.further.empty() ? "" : "; ") + text; };
  const auto at_best_caution = [&] {
    if (out.evidence == Verdict::trust) out.evidence = Verdict::caution;
    if (out.marginals == Verdict::trust) out.marginals = Verdict::caution;
  };
  if (!claims.converged) {
    out.evidence = out.marginals = Verdict::do_not_trust;
    add("the fit did not converge");
  }
  if (claims.substituted) {
    at_best_caution();
    add("ep lowered its power, so that this is the result of a milder method");
  }
  if (!circumstances.modes_known) {
    at_best_caution();
    add("other modes were not searched for" +
        (circumstances.why_modes_unknown.empty() ? "" : ": " + circumstances.why_modes_unknown));
  }
  const bool doubtful = circumstances.unexplained > unexplained_rows && !circumstances.few_rows;
  if (doubtful) at_best_caution();
  if (doubtful || circumstances.unexplained >= unexplained_half) {
    add(fmt::format("{:.0f} % of the rows are outvoted and no mode that was found explains them",
                    100.0 * circumstances.unexplained));
  }
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::trust:
      return "trust";
    case Verdict::caution:
      return "caution";
    case Verdict::do_not_trust:
      break;
  }
  return "do-not-trust";
}

void raise_interval(double bound, TrustCard& card) {
  card.evidence_lower = std::max(card.evidence_lower, bound);
  if (card.evidence_upper) card.evidence_upper = std::max(*card.evidence_upper, card.evidence_lower);
}

Verdict Judgement::both() const { return std::max(evidence, marginals); }

FitClaims claims_of(const Posterior& posterior, bool weights_are_latents) {
  FitClaims out;
  out.log_evidence = posterior.log_evidence().value;
  out.converged = posterior.report().converged();
  out.width = posterior.model().latents.count;
  out.substituted = posterior.report().substituted;
  out.latent_mean = posterior.latent().mean;
  out.latent_sd = posterior.latent().variance.cwiseMax(0.0).cwiseSqrt();
  if (!weights_are_latents) {
    const Marginals weights = posterior.weights();
    out.weights_mean = weights.mean;
    out.weights_sd = weights.variance.cwiseMax(0.0).cwiseSqrt();
  }
  return out;
}

Judgement judge(const FitClaims& claims, const ImportanceEstimate& estimate, const Circumstances& circumstances) {
  Judgement out;
  Gaps gaps;
  compare(claims.latent_mean, claims.latent_sd, estimate.latent, "row", gaps);
  compare(claims.weights_mean, claims.weights_sd, estimate.weights, "weight", gaps);
  const double evidence_gap = estimate.log_evidence - claims.log_evidence;
  const double evidence_error = estimate.evidence_error;
  ImportanceCheck& check = out.check;
  check = {estimate.draws,
           estimate.pareto_k,
           estimate.effective,
           estimate.log_evidence,
           evidence_error,
           evidence_gap,
           gaps.mean.value,
           gaps.mean.error,
           std::exp(gaps.log_sd.value),
           std::exp(gaps.log_sd.value) * gaps.log_sd.error,
           gaps.mean.place(claims.width),
           gaps.log_sd.place(claims.width),
           estimate.latent.mean,
           estimate.latent.sd,
           estimate.weights.mean,
           estimate.weights.sd};

  const bool good = estimate.pareto_k <= good_tail;
  const bool usable = estimate.pareto_k <= usable_tail;
  const bool telling = usable && estimate.effective >= fewest_to_condemn;
  if (good && std::abs(evidence_gap) + errors_allowed * evidence_error <= trusted_evidence)
    out.evidence = Verdict::trust;
  else if (telling && std::abs(evidence_gap) - errors_allowed * evidence_error > bad_evidence)
    out.evidence = Verdict::do_not_trust;
  out.evidence_reason = fmt::format("evidence: {} draws put it {:+.2f} ± {:.2g} nats from the fit's", estimate.draws,
                                    evidence_gap, evidence_error);
  use_bound(claims, std::max(circumstances.evidence_bound, estimate.log_evidence - rarely_above), out);
  if (good && gaps.mean_sure && gaps.sd_sure)
    out.marginals = Verdict::trust;
  else if (telling && (gaps.mean_bad || gaps.sd_bad))
    out.marginals = Verdict::do_not_trust;
  out.marginals_reason =
      gaps.mean.at < 0 ? std::string("marginals: there are none")
                       : fmt::format(
                             "marginals: at worst a mean is {:+.2f} ± {:.2g} sd off ({}), an sd {:.2f} ± {:.2g} of the "
                             "draws' ({})",
                             check.mean_gap, check.mean_gap_error, check.mean_place, check.sd_ratio,
                             check.sd_ratio_error, check.sd_place);
  if (circumstances.last_round && out.both() != Verdict::do_not_trust && !good && circumstances.log_concave)
    out.further.clear();
  else if (!usable)
    out.further = fmt::format("the draws cannot tell: the tail of their weights has shape {:.2f}, beyond {}",
                              estimate.pareto_k, usable_tail);
  else if (!good)
    out.further = fmt::format("the draws say little: the tail of their weights has shape {:.2f}, beyond {}",
                              estimate.pareto_k, good_tail);
  out.decided = out.both() != Verdict::caution;
  if (circumstances.last_round && out.both() == Verdict::caution && (estimate.effective < check_reach || !good))
    use_screen(
        circumstances,
        estimate.effective < check_reach
            ? fmt::format("past the reach of the check: {} draws are worth {:.0f}", estimate.draws, estimate.effective)
            : fmt::format("{} draws do not decide: the tail of their weights has shape {:.2f}", estimate.draws,
                          estimate.pareto_k),
        out);
  hold_back(claims, circumstances, out);
  return out;
}

Judgement judge_without_draws(const FitClaims& claims, const Circumstances& circumstances, const std::string& why) {
  Judgement out;
  out.evidence_reason = "evidence: not checked";
  out.marginals_reason = "marginals: not checked";
  use_bound(claims, circumstances.evidence_bound, out);
  use_screen(circumstances, why, out);
  hold_back(claims, circumstances, out);
  return out;
}

}  // namespace gaussmith
