#include "trust/better_method.hpp"

#include "gaussmith/errors.hpp"
#include "model/inducing.hpp"
#include "trust/second_order.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace gaussmith {

namespace {

/// Latents up to which a process is tried without its inducing variables.
constexpr Index whole_process = 3000;

/// Flops of a factorisation beyond which every other fit would take minutes.
constexpr double too_dear_to_try = 5e10;

struct Candidate {
  Method method;
  Model model;
  std::string name, words;  ///< As the advice calls it.
};

std::string written(const Method& method) {
  std::string text = fmt::format("--method {}", name_of(method));
  for (const auto& [name, value] : options_of(method, true)) text += fmt::format(" --set {}={}", name, value);
  return text;
}

/// In the order in which they are worth their time.
std::vector<Candidate> others(const Posterior& posterior) {
  const Model& model = posterior.model();
  const Method& method = posterior.method();
  std::vector<Candidate> all;
  const auto add = [&](const Method& other) {
    all.push_back({other, model, std::string(name_of(other)), written(other)});
  };
  if (inducing_of(model) != nullptr && model.rows() * model.latents.count <= whole_process) {
    Candidate whole{method, model, "the whole process", "the whole process in place of inducing variables"};
    std::get<GaussianProcess>(whole.model.prior).inducing.reset();
    all.push_back(std::move(whole));
  }
  if (!std::holds_alternative<Ep>(method)) add(Ep{});
  if (!std::holds_alternative<Kl>(method)) add(Kl{});
  if (const auto* kl = std::get_if<Kl>(&method); kl != nullptr && kl->covariance != "auto" && kl->covariance != "full")
    add(Kl{.covariance = "full"});
  return all;
}

/// What became of a candidate.
struct Tried {
  Verdict evidence, marginals;
  double log_evidence;
  std::string_view by;  ///< What trusts it, where something does.
};

}  // namespace

std::string better_method(const Posterior& posterior, const ImportanceEstimate* estimate,
                          const Circumstances& circumstances, bool weights_are_latents, const DiagnoseOptions& options,
                          const Run& run, TrustCard& card) {
  const auto latents = static_cast<double>(posterior.model().rows() * posterior.model().latents.count);
  const auto weights = static_cast<double>(posterior.model().dimension() * posterior.model().latents.count);
  if (latents * std::min(latents, weights) * std::min(latents, weights) > too_dear_to_try)
    return fmt::format("no other method was tried: with {:.0f} latents of {:.0f} weights each would take minutes",
                       latents, weights);
  Run fit = run;
  fit.progress = {};
  fit.every_gap = false;
  fit.warm_start = nullptr;
  DiagnoseOptions own = options;
  own.advice = false;
  const bool same_draws = estimate != nullptr && estimate->pareto_k <= good_tail;
  const auto judged = [&](const Posterior& other) -> Tried {
    const double log_evidence = other.log_evidence().value;
    if (!same_draws) {
      const TrustCard theirs = diagnose(other, own, fit);
      return {theirs.evidence, theirs.marginals, log_evidence, "a check of its own"};
    }
    Circumstances theirs = circumstances;
    std::optional<SecondOrder> next;
    if (circumstances.log_concave && why_no_second_order(other.state()).empty())
      next = second_order(other.state(), posterior_root(other.state()));
    theirs.next = next ? &*next : nullptr;
    theirs.last_round = true;
    theirs.evidence_bound = card.evidence_lower;
    const Judgement judgement = judge(claims_of(other, weights_are_latents), *estimate, theirs);
    return {judgement.evidence, judgement.marginals, log_evidence, "the same check"};
  };

  std::vector<std::string> tried;
  std::vector<std::string> failed;
  for (const Candidate& candidate : others(posterior)) {
    std::optional<Posterior> other;
    try {
      other = infer(candidate.model, candidate.method, fit);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception&) {
      // Not for these sites, or not in this memory.
    }
    if (!other || !other->report().converged()) {
      failed.push_back(candidate.name + (other ? " did not converge" : " does not take this model"));
      continue;
    }
    if (other->log_evidence().kind == EvidenceKind::lower_bound) raise_interval(other->log_evidence().value, card);
    const Tried found = judged(*other);
    if (std::max(found.evidence, found.marginals) == Verdict::trust)
      return fmt::format("use {}: it was tried, and {} trusts it (log evidence {:.6g})", candidate.words, found.by,
                         found.log_evidence);
    if (found.marginals == Verdict::trust && card.marginals != Verdict::trust)
      return fmt::format(
          "use {} for means and standard deviations: it was tried, and {} trusts them; its evidence is {}",
          candidate.words, found.by, to_string(found.evidence));
    tried.push_back(candidate.name);
  }
  if (!tried.empty())
    failed.insert(failed.begin(), fmt::format("{} {} tried and not trusted either", fmt::join(tried, " and "),
                                              tried.size() == 1 ? "was" : "were"));
  const std::string none = failed.empty() ? "no other method was tried" : fmt::format("{}", fmt::join(failed, ", "));
  if (card.modes_found > 1)
    return fmt::format("{}: the posterior has {} modes, and no Gaussian stands for them; sample it", none,
                       card.modes_found);
  if (estimate != nullptr && estimate->pareto_k <= usable_tail)
    return fmt::format("{}; the draws of this check put log evidence at {:.6g} ± {:.2g}; sample the posterior", none,
                       estimate->log_evidence, estimate->evidence_error);
  return none + "; sample the posterior, which was not tried here";
}

}  // namespace gaussmith
