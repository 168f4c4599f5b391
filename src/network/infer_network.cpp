#include "base/parallel_blocks.hpp"
#include "base/progress.hpp"
#include "base/random_stream.hpp"
#include "gaussmith/scores.hpp"
#include "network/network_run.hpp"
#include "network/network_start.hpp"
#include "network/network_state.hpp"
#include "network/options.hpp"
#include "network/relevance.hpp"
#include "network/stacking.hpp"
#include "posterior/prediction_points.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

namespace gaussmith {

namespace {

/// Sites that are taken out whole may leave a row that alone sees a weight without a cavity: then the lower power.
constexpr double power_of_networks = 0.8, power_of_linear = 1.0;
/// Sweeps without a halved residual after which it is tried.
constexpr int patience_of_linear = 60;
constexpr double tolerance_of_networks = 1e-5, tolerance_of_linear = 1e-8;

/// A residual that says nothing: some site has no cavity, or a moment is off by a standard deviation.
constexpr double far_off = 1.0;

/// One start and what came of it.
struct Start {
  std::unique_ptr<NetworkFit> fit;
  NetworkRunResult run;
  double log_evidence = 0.0;
  LeaveOneOut left_out;
  std::string lowered = {};  ///< Why its power is not the first one.
};

void check_run(const Run& run) {
  if (run.threads < 0) throw InvalidOption(fmt::format("threads must be 0 (all) or more, found {}", run.threads));
  if (run.form != CoreForm::automatic && run.form != CoreForm::covariance && run.form != CoreForm::precision)
    throw InvalidOption("form: networks have the covariance and the precision form of every unit's weights");
  if (run.warm_start != nullptr) throw InvalidOption("warm_start: networks have starts of their own");
}

/// Log densities of standardised responses to those of the responses.
void to_data_units(const NetworkModel& model, const NetworkProblem& problem, Marginals& f, Vector* log_density) {
  f.mean = problem.response_centre + problem.response_scale * f.mean.array();
  f.variance *= problem.response_scale * problem.response_scale;
  if (problem.gaussian && model.offset.size() > 0) f.mean += model.offset;
  if (log_density != nullptr) log_density->array() -= std::log(problem.response_scale);
}

FittedStart fitted_start(const NetworkFit& fit, double weight) {
  FittedStart out;
  out.weight = weight;
  for (Index k = 0; k <= fit.hidden(); ++k) {
    const NetworkUnit& unit = fit.units()[static_cast<std::size_t>(k)];
    UnitWeights weights = unit.law.weights(unit.weight_factors(), unit.activations);
    if (k == 0)
      out.linear = std::move(weights);
    else
      out.units.push_back(std::move(weights));
  }
  out.output_mean = fit.output_mean();
  out.output_covariance = fit.output_covariance();
  out.noise_mean = fit.noise().mean;
  out.noise_sd = std::sqrt(fit.noise().variance);
  return out;
}

/// Marginals of the starts as one mixture; every row of a leave-one-out prediction with the same weights.
LeaveOneOut stacked(const std::vector<Start>& starts, const Vector& weights) {
  std::vector<std::pair<double, const LeaveOneOut*>> parts;
  for (std::size_t r = 0; r < starts.size(); ++r)
    if (const double w = weights(static_cast<Index>(r)); w > 0.0) parts.emplace_back(w, &starts[r].left_out);
  LeaveOneOut out = *parts.front().second;
  for (Index i = 0; i < out.log_density.size(); ++i) {
    double highest = out.log_density(i), mean = 0.0;
    for (const auto& [w, part] : parts) {
      highest = std::max(highest, part->log_density(i));
      mean += w * part->latent.mean(i);
    }
    double density = 0.0, variance = 0.0;
    for (const auto& [w, part] : parts) {
      const double apart = part->latent.mean(i) - mean;
      density += w * std::exp(part->log_density(i) - highest);
      variance += w * (part->latent.variance(i) + apart * apart);
    }
    out.log_density(i) = highest + std::log(density);
    out.latent.mean(i) = mean;
    out.latent.variance(i) = variance;
  }
  return out;
}

double mean_of_finite(const Vector& values) {
  const RowTotal total = row_total(values);
  return total.rows > 0 ? total.total / static_cast<double>(total.rows) : 0.0;
}

Status worst_of(const std::vector<Start>& starts, const Vector& weights) {
  Status worst = Status::converged;
  for (std::size_t r = 0; r < starts.size(); ++r)
    if (weights(static_cast<Index>(r)) > 0.0 && starts[r].run.status != Status::converged) worst = starts[r].run.status;
  return worst;
}

}  // namespace

NetworkPosterior infer(const NetworkModel& model, const NetworkEp& method, const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  check_options(method);
  check_run(run);
  model.validate();
  const NetworkProblem problem = network_problem(model);
  const bool network = model.prior.units > 0;
  NetworkEp used = method;
  if (used.power == 0.0) used.power = network ? power_of_networks : power_of_linear;
  if (used.tolerance == 0.0) used.tolerance = network ? tolerance_of_networks : tolerance_of_linear;
  const bool several = network && method.start == NetworkStart::fitted;
  const int threads = model.sites->traits().any_thread ? resolve_threads(run.threads) : 1;
  auto state = std::make_shared<NetworkPosterior::State>(model, method);
  state->threads = threads;

  // Starts side by side, unless the caller wants to be told of sweeps as they come; the same bits either way.
  std::vector<Start> starts(static_cast<std::size_t>(several ? method.starts : 1));
  const Progress progress(run.progress, nullptr);
  const NetworkRunOptions options{used.damping, used.max_iterations, used.tolerance};
  const auto run_start = [&](std::size_t r, int threads_of_start) {
    Start& start = starts[r];
    start.fit = std::make_unique<NetworkFit>(problem, used.power, run.form, threads_of_start);
    if (!network) {
      start_linear(*start.fit);
    } else if (method.start == NetworkStart::zero) {
      start_zero(*start.fit);
    } else {
      Random random = random_stream(run.seed, r);
      start_fitted(*start.fit, random);
    }
    const auto tell = [&](const Iteration& iteration) { return progress.tell(iteration); };
    NetworkRunOptions first = options;
    const bool may_lower = !network && method.power == 0.0;
    if (may_lower) first.patience = patience_of_linear;
    start.run = run_network(*start.fit, first, tell);
    if (may_lower && start.run.status == Status::iteration_limit &&
        (start.run.skipped > 0 || start.run.sweeps < options.max_sweeps)) {
      start.lowered = fmt::format("power {} did not settle (residual {:.1e} after {} sweeps); power {} instead",
                                  power_of_linear, start.run.residual, start.run.sweeps, power_of_networks);
      start.fit = std::make_unique<NetworkFit>(problem, power_of_networks, run.form, threads_of_start);
      start_linear(*start.fit);
      start.run = run_network(*start.fit, options, tell);
    }
    if (start.run.status == Status::numerical_failure) return;  // Its parts do not belong together.
    start.log_evidence = start.fit->log_evidence();
    start.left_out = start.fit->leave_one_out();
  };
  if (run.progress || starts.size() == 1)
    for (std::size_t r = 0; r < starts.size(); ++r) run_start(r, threads);
  else
    parallel_blocks(static_cast<Index>(starts.size()), 1, threads,
                    [&](Index r, Index) { run_start(static_cast<std::size_t>(r), 1); });

  // Starts that did not converge count only where none did, and of those only the ones that came near, if any did.
  const bool any =
      std::any_of(starts.begin(), starts.end(), [](const Start& s) { return s.run.status == Status::converged; });
  const bool near = std::any_of(starts.begin(), starts.end(), [](const Start& s) { return s.run.residual < far_off; });
  std::vector<std::size_t> counting;
  counting.reserve(starts.size());
  for (std::size_t r = 0; r < starts.size(); ++r) {
    const NetworkRunResult& of = starts[r].run;
    if ((any ? of.status == Status::converged : !near || of.residual < far_off) &&
        starts[r].left_out.log_density.size() > 0)
      counting.push_back(r);
  }
  if (counting.empty())
    throw InvalidModel(starts.front().run.sweeps == 0
                           ? "inputs or responses are too large to compute with; standardize brings them to size"
                           : "no start stayed a distribution; a smaller network.power or fewer units may");
  Matrix left_out(problem.row_count(), static_cast<Index>(counting.size()));
  for (std::size_t c = 0; c < counting.size(); ++c)
    left_out.col(static_cast<Index>(c)) = starts[counting[c]].left_out.log_density;
  const Vector stack = stacking_weights(left_out);
  Vector weights = Vector::Zero(static_cast<Index>(starts.size()));
  for (std::size_t c = 0; c < counting.size(); ++c)
    weights(static_cast<Index>(counting[c])) = stack(static_cast<Index>(c));
  Index heaviest = 0;
  weights.maxCoeff(&heaviest);
  const Start& first = starts[static_cast<std::size_t>(heaviest)];

  FittedNetwork fitted;
  fitted.input_count = model.inputs.cols();
  fitted.inputs = problem.inputs;
  fitted.input_centre = problem.centre;
  fitted.input_scale = problem.scale;
  fitted.linear = model.prior.linear;
  fitted.response_centre = problem.response_centre;
  fitted.response_scale = problem.response_scale;
  const auto [prototypes, row_arguments] = response_prototypes({model.sites});
  fitted.likelihood = prototypes.front();
  fitted.row_arguments = row_arguments.front();

  Report& report = state->report;
  report.tolerance = used.tolerance;
  report.status = worst_of(starts, weights);
  const double log_unit = static_cast<double>(problem.row_count()) * std::log(problem.response_scale);
  bool evidence = false;
  std::vector<InputMoments> moments;
  Vector moment_weights(static_cast<Index>(counting.size()));
  state->latent = {Vector::Zero(problem.row_count()), Vector::Zero(problem.row_count())};
  for (const std::size_t r : counting) {
    const Start& start = starts[r];
    const double weight = weights(static_cast<Index>(r));
    const double value = start.log_evidence - log_unit;
    // Of starts that did not converge that of the heaviest: the largest may be the furthest off.
    if (any ? !evidence || value > state->log_evidence.value : &start == &first) state->log_evidence.value = value;
    evidence = true;
    moment_weights(static_cast<Index>(moments.size())) = weight;
    moments.push_back(input_moments(*start.fit));
    if (weight == 0.0) continue;
    fitted.starts.push_back(fitted_start(*start.fit, weight));
    const Marginals f = start.fit->outputs();
    state->latent.mean += weight * f.mean;
    state->latent.variance.array() += weight * (f.variance.array() + f.mean.array().square());
    report.residual = std::max(report.residual, start.run.residual);
  }
  state->latent.variance -= state->latent.mean.cwiseAbs2();
  to_data_units(model, problem, state->latent, nullptr);
  state->left_out = stacked(starts, weights);
  to_data_units(model, problem, state->left_out.latent, &state->left_out.log_density);
  state->predictor.emplace(std::move(fitted));

  NetworkSummary& summary = state->summary;
  summary.units = model.prior.units;
  summary.units_kept = static_cast<int>(first.fit->hidden());
  if (problem.gaussian) {
    double mean = 0.0, square = 0.0;
    for (const std::size_t r : counting) {
      const Normal& noise = starts[r].fit->noise();
      const double weight = weights(static_cast<Index>(r));
      mean += weight * noise.mean;
      square += weight * (noise.variance + noise.mean * noise.mean);
    }
    summary.noise = LogVariance{"noise", mean + 2.0 * std::log(problem.response_scale),
                                std::sqrt(std::max(0.0, square - mean * mean))};
  }
  for (std::size_t l = 0; l < problem.scales.names.size(); ++l) {
    const Normal& phi = first.fit->log_scales()[l];
    summary.scales.push_back({problem.scales.names[l], phi.mean, std::sqrt(phi.variance)});
  }
  summary.relevance = relevance_of(model, problem, moments, moment_weights);
  for (std::size_t r = 0; r < starts.size(); ++r) {
    const Start& start = starts[r];
    NetworkStartReport out;
    out.weight = weights(static_cast<Index>(r));
    out.residual = start.run.residual;
    out.sweeps = start.run.sweeps;
    out.units = static_cast<int>(start.fit->hidden());
    if (start.left_out.log_density.size() > 0) {
      out.log_evidence = start.log_evidence - log_unit;
      out.leave_one_out = mean_of_finite(start.left_out.log_density) - std::log(problem.response_scale);
    }
    out.status = start.run.status;
    report.iterations += start.run.sweeps;
    report.skipped += start.run.skipped;
    report.history.insert(report.history.end(), start.run.history.begin(), start.run.history.end());
    if (!start.lowered.empty()) report.notes.push_back(start.lowered);
    if (start.run.pruned > 0)
      report.notes.push_back(
          fmt::format("start {}: {} of {} units switched off by the data", r + 1, start.run.pruned, model.prior.units));
    if (start.run.status != Status::converged)
      report.notes.push_back(fmt::format("start {}: {} after {} sweeps, residual {:.1e}{}", r + 1,
                                         to_string(start.run.status), start.run.sweeps, start.run.residual,
                                         any ? "; it has no weight" : ""));
    summary.starts.push_back(out);
  }
  report.core = first.fit->covariance_form() ? "covariance form of every unit's weights"
                                             : "precision form of every unit's weights";
  report.message = report.converged()
                       ? (network ? fmt::format("moments match in {} of {} starts", counting.size(), starts.size())
                                  : std::string("moments match"))
                       : fmt::format("moments do not match; the result so far{}",
                                     !network && used.power > power_of_networks
                                         ? fmt::format("; network.power={} may help", power_of_networks)
                                         : std::string());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return NetworkPosterior(std::move(state));
}

}  // namespace gaussmith
