#include "engines/sampling_fit.hpp"

#include "base/parallel_blocks.hpp"
#include "engines/infer_valid.hpp"
#include "gaussian/draws_law.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "numerics/normal_numbers.hpp"
#include "sampling/left_out_draws.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

namespace gaussmith {

namespace {

/// Chains agree below this, and draws are worth something from that on.
constexpr double largest_rhat = 1.05;
constexpr double fewest_effective = 100.0;
/// How far the log mass of a mode, by Laplace's method, may lie below the largest for a chain to begin there: a
/// hundredth. A chain that stays in a smaller one would spoil averages that lack next to nothing without it.
constexpr double negligible_mode = 4.6;
/// The mass of modes without draws, as a share of all, that chains may miss.
constexpr double largest_miss = 0.05;

/// Methods whose fit is near the posterior, the nearest first.
std::vector<Method> candidates(const Model& model) {
  bool gaussian = true;
  for (const Sites& block : model.sites) gaussian = gaussian && block->traits().gaussian;
  if (gaussian) return {Exact{}};
  if (model.sites.front()->width() == 1) return {Ep{}, Laplace{}, Kl{}};
  std::vector<Method> all;
  for (const std::string& name : model.sites.front()->traits().methods) all.push_back(make_method(name));
  return all;
}

}  // namespace

SamplingFit fit_for_sampling(const Run& run, Posterior::State& state) {
  const BlasThreads one(1);
  const Model& model = state.model;
  auto space = std::make_shared<const SamplingSpace>(model);
  std::optional<ReferenceGaussian> best;
  std::string of;
  Run alone{
      .threads = 1, .seed = run.seed, .form = {}, .substitutes = true, .progress = run.progress, .warm_start = {}};
  for (const Method& method : candidates(model)) {
    try {
      const Posterior fit = infer_valid(model, method, alone);
      const Status status = fit.report().status;
      if (status == Status::numerical_failure || (best && !fit.report().converged())) continue;
      auto reference = ReferenceGaussian::make(space, fit.site_approximation());
      if (!reference) continue;
      best = std::move(reference);
      of = name_of(method);
      if (fit.report().converged()) break;
    } catch (const InvalidInput&) {
      // The method does not take this model.
    }
  }
  if (!best) {
    best = ReferenceGaussian::prior(space);
    of = "prior";
  }
  if (!best)
    throw InvalidOption(fmt::format("{} found no Gaussian to begin with: neither ep nor laplace nor kl fits this model",
                                    name_of(state.method)));
  state.report.core = fmt::format("coordinates of the {} fit, {} of them", of, space->rank());
  bool log_concave = true;
  for (const Sites& block : model.sites) log_concave = log_concave && block->traits().log_concave;
  return {space, std::move(*best), SiteTotals(model), log_concave, of};
}

FirstPoints::FirstPoints(const Model& model, const SamplingFit& fit, const Run& run, int threads) : fit_(fit) {
  if (fit.log_concave) return;
  ModeSearchResult found = find_modes(model, *fit.space, fit.reference.latent_mean(), run.seed, threads,
                                      Progress(run.progress, nullptr), before_draws);
  why_not_searched_ = found.why;
  std::size_t count = 0;
  while (count < found.modes.size() && found.modes[count].log_mass > found.modes.front().log_mass - negligible_mode)
    ++count;
  if (count < 2) return;
  found.modes.resize(count);
  modes_ = std::move(found.modes);
}

double FirstPoints::missed_by(const Matrix& latents) const {
  if (modes_.empty()) return 0.0;
  Vector mass(static_cast<Index>(modes_.size()));
  for (Index m = 0; m < mass.size(); ++m)
    mass(m) = std::exp(modes_[static_cast<std::size_t>(m)].log_mass - modes_.front().log_mass);
  mass /= mass.sum();
  Vector share = Vector::Zero(mass.size());
  for (Index draw = 0; draw < latents.cols(); ++draw) {
    Index nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Index m = 0; m < mass.size(); ++m) {
      const double far = (latents.col(draw) - modes_[static_cast<std::size_t>(m)].eta).squaredNorm();
      if (far < least) {
        least = far;
        nearest = m;
      }
    }
    share(nearest) += 1.0 / static_cast<double>(latents.cols());
  }
  return (share.array() < 0.1 * mass.array()).select(mass, 0.0).sum();
}

Vector FirstPoints::of(int chain, Random& random) const {
  constexpr double far = 2.0;
  if (!modes_.empty())
    return fit_.reference.coordinates_of(modes_[static_cast<std::size_t>(chain) % modes_.size()].place);
  Vector x(fit_.space->rank());
  fill_normal(random, view(x));
  const bool proper = fit_.space->prior_precision().minCoeff() > 0.0;
  if (fit_.log_concave || !proper || chain % 2 == 0) return far * x;
  return fit_.reference.coordinates_of(x);
}

Matrix latents_of(const Model& model, const Matrix& weights) {
  const Index width = model.latents.count;
  const Design design = model.design.sized(model.dimension());
  Matrix out(model.rows() * width, weights.cols());
  for (Index c = 0; c < width; ++c) {
    const Matrix of_c = design.times(Matrix(weights(Eigen::seq(c, weights.rows() - 1, width), Eigen::all)));
    out(Eigen::seq(c, out.rows() - 1, width), Eigen::all) = of_c;
  }
  if (model.offset.size() > 0) out.colwise() += model.offset;
  return out;
}

void end_in_draws(DrawnPosterior drawn, const SamplingFit& fit, Posterior::State& state) {
  const BlasThreads one(1);
  const Index width = fit.space->width();
  RowMarginals rows;
  static_cast<Marginals&>(rows) = moments_of_draws(drawn.latents, width);
  if (drawn.latent.mean.size() > 0) {
    const Vector scale = (drawn.latent.variance.array() / rows.variance.array().max(1e-300)).sqrt();
    for (Index i = 0; i < rows.covariance.size(); ++i) {
      const Index n = i / (width * width);
      const Index a = n * width + (i / width) % width;
      const Index b = n * width + i % width;
      rows.covariance(i) *= scale(a) * scale(b);
    }
    rows.mean = drawn.latent.mean;
    rows.variance = drawn.latent.variance;
  }
  rows.share = Vector::Ones(rows.mean.size());
  rows.dual = Vector::Zero(rows.mean.size());
  if (drawn.weights.rows() == 0) {
    drawn.weights = drawn.latents;
    if (state.model.offset.size() > 0) drawn.weights.colwise() -= state.model.offset;
    drawn.of_weights = {rows.mean, rows.variance};
    if (state.model.offset.size() > 0) drawn.of_weights.mean -= state.model.offset;
  }
  state.sites = fit.reference.sites();
  state.law = std::make_unique<DrawsLaw>(fit.space->geometries(), state.model.latents, std::move(drawn.weights),
                                         std::move(drawn.of_weights));
  state.law->know_rows(std::move(rows), state.sites);
  state.gradient = [] { return ParameterGradient{}; };
  const auto latents = std::make_shared<const Matrix>(std::move(drawn.latents));
  state.left_out = [latents, &state] { return left_out_of_draws(state.model, *latents, state.threads); };
}

void end_in_chains(ChainDraws draws, const FirstPoints& first, const SamplingFit& fit, Posterior::State& state) {
  Report& report = state.report;
  if (draws.length < 8) throw Interrupted();
  report.iterations = static_cast<int>(draws.length * draws.chains);
  report.diagnostics = SamplingDiagnostics{draws.worst.rhat, draws.worst.bulk_ess, draws.worst.tail_ess, std::nullopt};
  report.residual = draws.worst.rhat - 1.0;
  report.tolerance = largest_rhat - 1.0;
  const double effective = std::min(draws.worst.bulk_ess, draws.worst.tail_ess);
  if (draws.stopped) {
    report.status = Status::stopped;
    report.message = fmt::format("stopped with {} draws of each of {} chains", draws.length, draws.chains);
  } else if (!(draws.worst.rhat <= largest_rhat)) {
    report.status = Status::iteration_limit;
    report.message = fmt::format(
        "the chains disagree: R-hat {:.3g} where agreement is below {}; the posterior may have several modes, or the "
        "chains are too short",
        draws.worst.rhat, largest_rhat);
  } else if (const double missed = first.missed_by(draws.latents); missed > largest_miss) {
    report.status = Status::iteration_limit;
    report.message = fmt::format(
        "the chains agree, but hardly a draw is near modes with some {:.0f} % of the mass (Laplace's method): they do "
        "not get "
        "from one to another",
        100.0 * missed);
  } else if (!(effective >= fewest_effective)) {
    report.status = Status::iteration_limit;
    report.message = fmt::format("the draws hang together: worth {:.0f} independent ones where {:.0f} are wanted",
                                 effective, fewest_effective);
  } else {
    report.status = Status::converged;
    report.message = fmt::format("{} chains agree: R-hat {:.4f}, worth {:.0f} independent draws or more", draws.chains,
                                 draws.worst.rhat, effective);
  }
  if (draws.failures > 0)
    report.warnings.push_back(fmt::format(
        "{} trajectories were lost where the posterior is too steep for the step size: what lies there may be missed",
        draws.failures));
  if (!first.why_not_searched().empty())
    report.warnings.push_back("other modes were not searched for: " + first.why_not_searched() +
                              "; what lies around one that no chain reaches is missed");
  state.log_evidence = {std::numeric_limits<double>::quiet_NaN(), EvidenceKind::estimate, std::nullopt, 0.0};
  DrawnPosterior drawn;
  drawn.latents = std::move(draws.latents);
  drawn.weights = std::move(draws.weights);
  if (drawn.weights.rows() > 0) drawn.of_weights = moments_of_draws(drawn.weights, fit.space->width());
  end_in_draws(std::move(drawn), fit, state);
}

}  // namespace gaussmith
