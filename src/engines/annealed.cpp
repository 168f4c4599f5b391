#include "engines/annealed.hpp"

#include "base/random_stream.hpp"
#include "engines/sampling_fit.hpp"
#include "sampling/annealed_importance.hpp"

#include <fmt/format.h>

#include <cmath>

namespace gaussmith {

namespace {

constexpr double largest_shape = 0.7;

/// Columns chosen with these probabilities, which sum to one, at equal steps.
std::vector<Index> chosen_columns(const Vector& weights, Random& random) {
  const Index count = weights.size();
  std::vector<Index> out;
  double passed = 0.0;
  double next = random.uniform();
  for (Index s = 0; s < count; ++s) {
    passed += weights(s) * static_cast<double>(count);
    for (; static_cast<Index>(out.size()) < count && (next < passed || s + 1 == count); next += 1.0) out.push_back(s);
  }
  return out;
}

Marginals weighted_moments(const Matrix& values, const Vector& weights) {
  Marginals out;
  out.mean = values * weights;
  out.variance = (values.colwise() - out.mean).cwiseAbs2() * weights;
  return out;
}

}  // namespace

void check_annealed(const Model& /*model*/) {}

void run_annealed(const AnnealedImportance& options, const Run& run, Posterior::State& state) {
  const SamplingFit fit = fit_for_sampling(run, state);
  std::optional<ReferenceGaussian> prior;
  const bool from_prior =
      options.start == AnnealingStart::prior || (options.start == AnnealingStart::automatic && !fit.log_concave);
  if (from_prior) prior = ReferenceGaussian::prior(fit.space);
  if (options.start == AnnealingStart::prior && !prior)
    state.report.notes.emplace_back("the prior is no distribution: particles begin around the fit");
  const ReferenceGaussian& start = prior ? *prior : fit.reference;
  const AnnealedParticles particles = anneal(
      {&start, &fit.sites},
      {.particles = options.draws, .temperatures = options.temperatures, .seed = run.seed, .threads = state.threads},
      Progress(run.progress, nullptr));

  Report& report = state.report;
  report.iterations = static_cast<int>(particles.log_weights.size());
  report.residual = std::max(0.0, particles.pareto_k);
  report.tolerance = largest_shape;
  report.diagnostics = SamplingDiagnostics{std::nullopt, particles.effective, std::nullopt, particles.pareto_k};
  state.log_evidence = {particles.log_evidence, EvidenceKind::estimate, particles.evidence_error, 0.0};
  if (!std::isfinite(particles.log_evidence)) {
    report.status = Status::numerical_failure;
    report.message = "no particle has any density under the model";
    return;
  }
  if (particles.stopped) {
    report.status = Status::stopped;
    report.message = fmt::format("stopped with {} particles", report.iterations);
  } else if (particles.pareto_k <= largest_shape) {
    report.status = Status::converged;
    report.message =
        fmt::format("Pareto k {:.2f}, {} particles from the {}, worth {:.0f} independent ones", particles.pareto_k,
                    report.iterations, prior ? "prior" : fit.method + " fit", particles.effective);
  } else {
    report.status = Status::inaccurate;
    report.message = fmt::format("Pareto k {:.2f} of the weights, above {}: take more temperatures (ais.temperatures)",
                                 particles.pareto_k, largest_shape);
  }
  Random random = random_stream(run.seed, 1u << 29);
  const std::vector<Index> chosen = chosen_columns(particles.smoothed, random);
  DrawnPosterior drawn;
  drawn.latents = particles.latents(Eigen::all, chosen);
  drawn.latent = weighted_moments(particles.latents, particles.smoothed);
  if (particles.weights.rows() > 0) {
    drawn.weights = particles.weights(Eigen::all, chosen);
    drawn.of_weights = weighted_moments(particles.weights, particles.smoothed);
  }
  end_in_draws(std::move(drawn), fit, state);
}

}  // namespace gaussmith
