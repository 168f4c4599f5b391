// The card of a fit: each part is found by a file of its own, here they are asked in turn.

#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/trust.hpp"
#include "linalg/blas_threads.hpp"
#include "sampling/mode_finder.hpp"
#include "trust/better_method.hpp"
#include "trust/left_out.hpp"
#include "trust/second_order.hpp"
#include "trust/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

namespace gaussmith {

namespace {

constexpr int fewest_draws = 100;
constexpr std::size_t worst_sites = 10;
/// Of the draws, where other modes are drawn around, too.
constexpr double share_of_fit = 0.5;
/// Flops of a factorisation beyond which the check would take minutes, and draws of that many coordinates are worth
/// nothing: 3700 rows of as many coordinates.
constexpr double too_dear = 5e10;
/// log(1 + this many standard errors): one-sided, one in a thousand.
constexpr double upper_errors = 3.09;
/// Beyond this shape of their tail a few thousand weights miss what is rare and large too often, and with it the upper
/// end of the interval: draws go on.
constexpr double light_tail = 0.4;

bool log_concave(const Posterior& posterior) {
  return SiteRows(posterior.model().sites, 1).all(&SiteTraits::log_concave);
}

std::vector<WorstSite> largest_shares(const Vector& share) {
  std::vector<Index> order(static_cast<std::size_t>(share.size()));
  std::iota(order.begin(), order.end(), Index{0});
  const std::size_t count = std::min(worst_sites, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](Index a, Index b) {
                      return std::abs(share(a)) != std::abs(share(b)) ? std::abs(share(a)) > std::abs(share(b)) : a < b;
                    });
  std::vector<WorstSite> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back({order[i], share(order[i])});
  return out;
}

/// A lower bound on log Z from any Gaussian in the site form: log Z of the sites and the expectations of log t - log s.
double bound_of(const Posterior& posterior, const ReferenceGaussian* gaussian) {
  const Evidence& own = posterior.log_evidence();
  if (own.kind == EvidenceKind::lower_bound || own.kind == EvidenceKind::exact) return own.value;
  if (gaussian == nullptr || gaussian->space().width() > 1) return -std::numeric_limits<double>::infinity();
  const SamplingSpace& space = gaussian->space();
  const Vector& mean = gaussian->latent_mean();
  const Vector variance = gaussian->latent_sd().cwiseAbs2();
  const SiteApproximation& sites = gaussian->sites();
  Vector value;
  SiteRows(posterior.model(), 1).expectation(mean, variance, &value);
  // -1/2 E eta'T eta + nu'E eta against the value at the mean: only the variances are left.
  const double flat = static_cast<double>(space.rank()) - space.prior_precision().sum();
  const double log_sites =
      gaussian->log_prior_at_mean() + gaussian->log_determinant() + 0.5 * flat * std::log(2.0 * M_PI);
  return log_sites + value.sum() + 0.5 * sites.precision.dot(variance);
}

/// The upper end of the evidence: that of raw weights, and where few large ones are missing that of smoothed weights.
double upper_end(const ImportanceEstimate& is) {
  return std::max(is.log_evidence + std::log1p(upper_errors * is.evidence_error),
                  is.smoothed_evidence + std::log1p(upper_errors * is.smoothed_error));
}

/// The draws of a check and what they are drawn around.
class Check {
 public:
  Check(const Posterior& posterior, const DiagnoseOptions& options, const Run& run, TrustCard& card)
      : posterior_(posterior), options_(options), run_(run), card_(card) {}

  /// Space, Gaussian and modes; false where there can be no draws, and `why` says why.
  bool prepare() {
    try {
      space_ = std::make_shared<const SamplingSpace>(posterior_.model());
    } catch (const std::exception& error) {
      why_ = fmt::format("no draws were made: {}", error.what());
      return false;
    }
    search();
    const double factorisation = static_cast<double>(space_->latents()) * static_cast<double>(space_->rank()) *
                                 static_cast<double>(space_->rank());
    if (factorisation > too_dear) {
      why_ = fmt::format("no draws were made: {} latents of {} coordinates are past the reach of the check",
                         space_->latents(), space_->rank());
      return false;
    }
    fit_ = ReferenceGaussian::make(space_, posterior_.site_approximation());
    if (fit_) parts_.push_back({&*fit_, modes_.empty() ? 1.0 : share_of_fit});
    for (const ReferenceGaussian& mode : modes_)
      parts_.push_back({&mode, (fit_ ? 1.0 - share_of_fit : 1.0) / static_cast<double>(modes_.size())});
    if (parts_.empty()) why_ = "no draws were made: there is no Gaussian to draw around";
    return !parts_.empty();
  }

  /// Draws until it is decided.
  Judgement run(const FitClaims& claims, Circumstances circumstances) {
    ImportanceSampler sampler(posterior_.model(), parts_,
                              {.most = options_.most_draws, .seed = run_.seed, .threads = run_.threads});
    Judgement judgement;
    do {
      sampler.draw(options_.draws);
      estimate_ = sampler.estimate();
      circumstances.last_round = sampler.draws() + options_.draws > options_.most_draws || hopeless();
      judgement = judge(claims, estimate_, circumstances);
      if (stopped(sampler.draws(), judgement)) break;
    } while ((!judgement.decided || doubtful_end()) && !circumstances.last_round);
    return judgement;
  }

  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] const ReferenceGaussian* fit() const { return fit_ ? &*fit_ : nullptr; }
  [[nodiscard]] const ImportanceEstimate& estimate() const { return estimate_; }
  [[nodiscard]] const std::shared_ptr<const SamplingSpace>& space() const { return space_; }
  [[nodiscard]] double unexplained() const { return unexplained_; }
  [[nodiscard]] const std::string& why_not_searched() const { return why_not_searched_; }

 private:
  void search() {
    if (!options_.modes) {
      card_.modes_searched = log_concave(posterior_);
      return;
    }
    const Progress progress(run_.progress, nullptr);
    const ModeSearchResult found = find_modes(posterior_.model(), *space_, posterior_.latent().mean, run_.seed,
                                              resolve_threads(run_.threads), progress);
    card_.modes_searched = found.searched;
    card_.mode_starts = found.starts;
    if (!found.searched) why_not_searched_ = found.why;
    if (found.modes.empty()) return;
    card_.modes_found = static_cast<int>(found.modes.size());
    for (const FoundMode& mode : found.modes) card_.mode_places.push_back(mode.eta);
    // Rows that every mode with any mass outvotes.
    std::vector<bool> outvoted(found.modes.front().outvoted.size(), true);
    for (std::size_t m = 0; m < modes_with_mass(found.modes); ++m)
      for (std::size_t n = 0; n < outvoted.size(); ++n) outvoted[n] = outvoted[n] && found.modes[m].outvoted[n];
    modes_ = gaussians_at(found.modes, space_, posterior_.model());
    unexplained_ = static_cast<double>(std::count(outvoted.begin(), outvoted.end(), true)) /
                   static_cast<double>(std::max<std::size_t>(1, outvoted.size()));
  }

  /// Three rounds show that all of them would say nothing: the weights have no mean, or so few draws carry them that at
  /// this rate the check stays far from its reach.
  [[nodiscard]] bool hopeless() const {
    constexpr double no_mean = 1.0, far_from_reach = 0.25;
    if (estimate_.draws < 3 * options_.draws) return false;
    const double in_the_end = estimate_.effective * options_.most_draws / static_cast<double>(estimate_.draws);
    return estimate_.pareto_k > no_mean ||
           (estimate_.pareto_k > usable_tail && in_the_end < far_from_reach * check_reach);
  }

  /// Draws good enough to have an upper end, hardly.
  [[nodiscard]] bool doubtful_end() const {
    return card_.modes_searched && estimate_.pareto_k > light_tail && estimate_.pareto_k <= good_tail;
  }

  bool stopped(Index draws, const Judgement& judgement) {
    if (!run_.progress) return false;
    const Next next = run_.progress({static_cast<int>(draws), judgement.check.log_evidence,
                                     judgement.check.log_evidence_error, "importance check"});
    if (next == Next::discard) throw Interrupted();
    return next == Next::accept;
  }

  const Posterior& posterior_;
  const DiagnoseOptions& options_;
  const Run& run_;
  TrustCard& card_;
  std::shared_ptr<const SamplingSpace> space_;
  std::optional<ReferenceGaussian> fit_;
  std::vector<ReferenceGaussian> modes_;
  std::vector<ProposalPart> parts_;
  ImportanceEstimate estimate_;
  std::string why_, why_not_searched_;
  double unexplained_ = 0.0;
};

void put_second_order(const Posterior& posterior, TrustCard& card) {
  if (!why_no_second_order(posterior.state()).empty()) return;
  SecondOrder next = second_order(posterior.state(), posterior_root(posterior.state()));
  if (!std::isfinite(next.evidence)) return;
  card.worst_sites = largest_shares(next.share);
  if (std::holds_alternative<Ep>(posterior.method()))
    card.log_evidence_corrected = posterior.log_evidence().value + next.evidence;
  card.second_order = std::move(next);
}

void put_judgement(const Judgement& judgement, TrustCard& card) {
  card.evidence = judgement.evidence;
  card.marginals = judgement.marginals;
  card.verdict = judgement.both();
  card.reasons = {judgement.evidence_reason, judgement.marginals_reason};
  if (!judgement.further.empty()) card.reasons.push_back(judgement.further);
}

/// An exact posterior is what it says; only its numerics can be wrong.
TrustCard exact_card(const Posterior& posterior) {
  TrustCard card;
  const bool good = posterior.report().converged();
  card.verdict = card.evidence = card.marginals = good ? Verdict::trust : Verdict::do_not_trust;
  card.reasons = good ? std::vector<std::string>{"evidence: exact", "marginals: exact"}
                      : std::vector<std::string>{"the fit did not converge"};
  card.evidence_lower = posterior.log_evidence().value;
  if (good) card.evidence_upper = card.evidence_lower;
  card.modes_searched = true;
  return card;
}

void check_usage(const Posterior& posterior, const DiagnoseOptions& options) {
  if (options.draws < fewest_draws)
    throw InvalidOption(fmt::format("diagnose: draws must be {} or more, found {}", fewest_draws, options.draws));
  if (options.most_draws < options.draws)
    throw InvalidOption(
        fmt::format("diagnose: most_draws must be draws ({}) or more, found {}", options.draws, options.most_draws));
  const Method& method = posterior.method();
  const bool gaussian = std::holds_alternative<Exact>(method) || std::holds_alternative<Laplace>(method) ||
                        std::holds_alternative<Kl>(method) || std::holds_alternative<Ep>(method) ||
                        std::holds_alternative<Vb>(method) || std::holds_alternative<Vmf>(method);
  if (!gaussian)
    throw InvalidOption(
        fmt::format("diagnose: {} samples and brings diagnostics of its own; give a Gaussian fit", name_of(method)));
}

}  // namespace

TrustCard diagnose(const Posterior& posterior, const DiagnoseOptions& options, const Run& run) {
  check_usage(posterior, options);
  const BlasThreads blas(resolve_threads(run.threads));
  if (posterior.report().status == Status::numerical_failure) {
    TrustCard card;
    card.verdict = card.evidence = card.marginals = Verdict::do_not_trust;
    card.reasons = {"the fit failed: " + posterior.report().message};
    card.evidence_lower = -std::numeric_limits<double>::infinity();
    return card;
  }
  const bool exact = posterior.log_evidence().kind == EvidenceKind::exact;
  TrustCard card = exact ? exact_card(posterior) : TrustCard{};
  card.checks = quick_checks(posterior);
  put_left_out(posterior, card);
  put_second_order(posterior, card);
  if (exact) return card;

  Circumstances circumstances;
  circumstances.log_concave = log_concave(posterior);
  circumstances.next = card.second_order ? &*card.second_order : nullptr;
  Check check(posterior, options, run, card);
  const bool drawable = check.prepare();
  circumstances.modes_known = card.modes_searched;
  circumstances.why_modes_unknown = check.why_not_searched();
  circumstances.unexplained = check.unexplained();
  circumstances.few_rows = check.space() != nullptr && posterior.model().rows() < 2 * check.space()->rank();
  card.evidence_lower = bound_of(posterior, check.fit());
  circumstances.evidence_bound = card.evidence_lower;
  const FitClaims claims = claims_of(posterior, check.space() == nullptr || check.space()->weights_are_latents());
  const Judgement judgement =
      drawable ? check.run(claims, circumstances) : judge_without_draws(claims, circumstances, check.why());
  put_judgement(judgement, card);
  if (drawable) {
    card.check = judgement.check;
    if (judgement.check.pareto_k <= good_tail && card.modes_searched)
      card.evidence_upper = std::max(card.evidence_lower, upper_end(check.estimate()));
  }
  if (card.verdict != Verdict::trust && options.advice)
    card.advice = better_method(posterior, drawable ? &check.estimate() : nullptr, circumstances,
                                check.space() != nullptr && check.space()->weights_are_latents(), options, run, card);
  return card;
}

}  // namespace gaussmith
