#include "base/parallel_blocks.hpp"
#include "engines/infer_valid.hpp"
#include "engines/proposals.hpp"
#include "gaussian/draws_law.hpp"
#include "gaussmith/compare.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "sampling/few_dimensions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

/// Shapes and errors of importance weights that make a truth.
constexpr double largest_shape = 0.5;
constexpr double most_uncertain_moment = 0.05;
constexpr Index draws_at_once = 4000;
constexpr Index most_kept = 4000;

bool all_gaussian(const Model& model) {
  return std::all_of(model.sites.begin(), model.sites.end(),
                     [](const Sites& block) { return block->traits().gaussian; });
}

Truth of_posterior(const Posterior& posterior) {
  Truth truth;
  truth.method = std::string(name_of(posterior.method()));
  truth.log_evidence = posterior.log_evidence().value;
  truth.standard_error = posterior.log_evidence().standard_error.value_or(posterior.log_evidence().numerical_error);
  truth.latent = posterior.latent();
  truth.weights = posterior.weights();
  return truth;
}

double largest_error(const MomentEstimates& moments) {
  return std::max(moments.mean_error.maxCoeff(), moments.log_sd_error.maxCoeff());
}

Marginals moments_of(const MomentEstimates& estimates) { return {estimates.mean, estimates.sd.cwiseAbs2()}; }

/// Draws beside a truth that has none of its own; none where they would say nothing.
Matrix draws_beside(const Model& model, const SamplingFit& fit, const Run& run) {
  const Proposals from(model, fit, 0.5, run, run.threads);
  ImportanceSampler sampler(model, from.parts(), {.most = 2 * most_kept, .seed = run.seed + 1, .threads = run.threads});
  sampler.draw(2 * most_kept);
  if (!(sampler.estimate().pareto_k <= largest_shape)) return {};
  return latents_of(model, sampler.resample_weights(most_kept));
}

/// Importance sampling that goes on until it is good enough.
std::optional<Truth> by_importance(const Model& model, const SamplingFit& fit, const TruthOptions& options,
                                   const Run& run) {
  const Proposals from(model, fit, 0.2, run, run.threads);
  ImportanceSampler sampler(model, from.parts(), {.most = options.draws, .seed = run.seed + 1, .threads = run.threads});
  ImportanceEstimate is;
  while (sampler.draws() < options.draws) {
    sampler.draw(std::min<Index>(draws_at_once, options.draws - sampler.draws()));
    is = sampler.estimate();
    if (is.pareto_k <= largest_shape && is.evidence_error <= 0.5 * options.good_enough &&
        std::max(largest_error(is.latent), largest_error(is.weights)) <= 0.3 * most_uncertain_moment)
      break;
  }
  const double uncertain = std::max(largest_error(is.latent), largest_error(is.weights));
  if (!(is.pareto_k <= largest_shape) || !(is.evidence_error <= 5.0 * options.good_enough) ||
      !(uncertain <= most_uncertain_moment))
    return std::nullopt;
  Truth truth;
  truth.method = "is";
  truth.log_evidence = is.log_evidence;
  truth.standard_error = is.evidence_error;
  truth.moment_error = uncertain;
  truth.latent = moments_of(is.latent);
  truth.weights = moments_of(is.weights);
  truth.draws = latents_of(model, sampler.resample_weights(std::min<Index>(is.draws, most_kept)));
  truth.notes.push_back(fmt::format("importance sampling, {} draws around {}, Pareto k {:.2f}, worth {:.0f}", is.draws,
                                    from.words(), is.pareto_k, is.effective));
  return truth;
}

/// Chains for the moments, annealed particles for the evidence.
std::optional<Truth> by_chains(const Model& model, const TruthOptions& options, const Run& run) {
  NoUTurn chains;
  chains.draws = std::max(1000, options.draws / 5);
  AnnealedImportance annealing;
  annealing.draws = std::clamp(options.draws / 40, 100, 1000);
  try {
    const Posterior drawn = infer_valid(model, chains, run);
    const SamplingDiagnostics& diagnostics = *drawn.report().diagnostics;
    Truth truth = of_posterior(drawn);
    truth.draws = latents_of(model, drawn.sample_weights(static_cast<int>(most_kept), run.seed));
    truth.moment_error = 1.0 / std::sqrt(std::max(1.0, std::min(*diagnostics.bulk_ess, *diagnostics.tail_ess)));
    truth.notes.push_back("nuts: " + drawn.report().message);
    truth.standard_error = std::numeric_limits<double>::infinity();
    const Posterior annealed = infer_valid(model, annealing, run);
    truth.notes.push_back("ais: " + annealed.report().message);
    if (annealed.report().converged()) {
      truth.log_evidence = annealed.log_evidence().value;
      truth.standard_error = annealed.log_evidence().standard_error.value_or(0.0);
    }
    if (!drawn.report().converged() && !annealed.report().converged()) return std::nullopt;
    return truth;
  } catch (const InvalidInput&) {
    return std::nullopt;
  }
}

std::optional<Truth> look_for_truth(const Model& model, const TruthOptions& options, const Run& run) {
  if (all_gaussian(model)) {
    try {
      Truth truth = of_posterior(infer_valid(model, Exact{}, run));
      truth.method = "exact";
      return truth;
    } catch (const InvalidInput&) {
      return std::nullopt;
    }
  }
  Posterior::State state(model, ImportanceSampling{});
  state.threads = resolve_threads(run.threads);
  try {
    const SamplingFit fit = fit_for_sampling(run, state);
    Run own = run;
    own.threads = state.threads;
    if (const auto truth = integrate_few_dimensions(state.model, fit.reference, state.threads);
        truth && truth->error <= 5.0 * options.good_enough) {
      Truth out;
      out.method = "quadrature";
      out.log_evidence = truth->log_evidence;
      out.standard_error = out.moment_error = truth->error;
      out.latent = truth->latent;
      out.weights = truth->weights;
      out.draws = draws_beside(state.model, fit, own);
      return out;
    }
    // Around one fit, importance sampling does not see modes that the fit does not know.
    if (fit.log_concave || ReferenceGaussian::prior(fit.space))
      if (auto truth = by_importance(state.model, fit, options, own);
          truth && (fit.log_concave || fit.space->rank() <= 6))
        return truth;
  } catch (const InvalidOption&) {
    return std::nullopt;
  }
  return by_chains(model, options, run);
}

}  // namespace

std::optional<Truth> find_truth(const Model& model, const TruthOptions& options, const Run& run) {
  model.validate();
  const BlasThreads blas(resolve_threads(run.threads));
  const auto start = std::chrono::steady_clock::now();
  std::optional<Truth> truth = look_for_truth(model, options, run);
  if (truth) truth->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return truth;
}

}  // namespace gaussmith
