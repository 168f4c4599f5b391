#include "engines/importance.hpp"

#include "base/progress.hpp"
#include "engines/proposals.hpp"
#include "linalg/blas_threads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Weights whose tail has a larger shape than this make averages that say little.
constexpr double largest_shape = 0.7;
/// What the prior takes of the draws where the posterior may have modes that the fit does not know.
constexpr double share_of_prior = 0.1;
constexpr Index draws_at_once = 2000;
constexpr Index most_kept = 4000;

}  // namespace

void check_importance(const Model& /*model*/) {}

void run_importance(const ImportanceSampling& options, const Run& run, Posterior::State& state) {
  const SamplingFit fit = fit_for_sampling(run, state);
  const BlasThreads one(1);
  const Proposals from(state.model, fit, share_of_prior, run, state.threads);
  ImportanceSampler sampler(
      state.model, from.parts(),
      {.most = options.draws, .degrees = options.degrees, .seed = run.seed, .threads = state.threads});
  const Progress progress(run.progress, nullptr);
  bool stopped = false;
  while (sampler.draws() < options.draws && !stopped) {
    sampler.draw(std::min<Index>(draws_at_once, options.draws - sampler.draws()));
    const auto left = static_cast<double>(std::max<Index>(0, options.draws - sampler.draws()));
    stopped = progress.tell({static_cast<int>(sampler.draws()), static_cast<double>(sampler.draws()), left, "draws"}) !=
                  Next::proceed &&
              left > 0.0;
  }
  const ImportanceEstimate is = sampler.estimate();

  Report& report = state.report;
  report.iterations = static_cast<int>(is.draws);
  report.residual = std::max(0.0, is.pareto_k);
  report.tolerance = largest_shape;
  report.diagnostics = SamplingDiagnostics{std::nullopt, is.effective, std::nullopt, is.pareto_k};
  state.log_evidence = {is.log_evidence, EvidenceKind::estimate, is.evidence_error, 0.0};
  if (!std::isfinite(is.log_evidence)) {
    report.status = Status::numerical_failure;
    report.message = "no draw has any density under the model";
    return;
  }
  if (stopped) {
    report.status = Status::stopped;
    report.message = fmt::format("stopped with {} draws", is.draws);
  } else if (is.pareto_k <= largest_shape) {
    report.status = Status::converged;
    report.message = fmt::format("Pareto k {:.2f}, {} draws around {}, worth {:.0f} independent ones", is.pareto_k,
                                 is.draws, from.words(), is.effective);
  } else {
    report.status = Status::inaccurate;
    report.message = fmt::format(
        "Pareto k {:.2f} of the weights, above {}: averages over them{} say little; take ais, or ess or nuts for "
        "moments",
        is.pareto_k, largest_shape, is.pareto_k > 1.0 ? " have no mean to speak of and" : "");
  }
  if (!from.why_not_searched().empty())
    report.warnings.push_back("other modes were not searched for: " + from.why_not_searched() +
                              "; what lies around one that neither the fit nor draws of the prior reach is missed");
  DrawnPosterior drawn;
  Matrix weights = sampler.resample_weights(std::min<Index>(is.draws, most_kept));
  drawn.latents = state.model.design.is_identity() ? weights : Matrix();
  if (state.model.design.is_identity()) {
    if (state.model.offset.size() > 0) drawn.latents.colwise() += state.model.offset;
  } else {
    drawn.latents = latents_of(state.model, weights);
    drawn.weights = std::move(weights);
    drawn.of_weights = {is.weights.mean, is.weights.sd.cwiseAbs2()};
  }
  drawn.latent = {is.latent.mean, is.latent.sd.cwiseAbs2()};
  end_in_draws(std::move(drawn), fit, state);
}

}  // namespace gaussmith
