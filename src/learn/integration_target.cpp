#include "learn/integration_target.hpp"

#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// An evidence that is uncertain by less than this weighs its point well enough.
constexpr double usable_error = 1e-3;

/// Fits that take more steps than this, and than a few times those at the mode, are far from where the parameters can
/// be.
constexpr int least_limit = 150;
constexpr int times_mode = 4;

/// The model that learning began with: its values decide how wide the default bounds are.
Model initial_model(const Learned& learned) {
  std::map<std::string, double, std::less<>> values;
  for (const LearnedParameter& p : learned.report.parameters)
    if (!p.fixed) values[p.name] = p.initial;
  return learned.posterior.model().with_parameters(values);
}

bool usable(const Posterior& posterior) {
  const Evidence& evidence = posterior.log_evidence();
  if (!std::isfinite(evidence.value)) return false;
  const Status status = posterior.report().status;
  return status == Status::converged || (status == Status::inaccurate && evidence.numerical_error < usable_error);
}

}  // namespace

IntegrationTarget::IntegrationTarget(const Learned& learned, const LearnOptions& options, const Run& run)
    : mode_fit_(learned.posterior),
      run_(run),
      most_iterations_(std::max(least_limit, times_mode * learned.posterior.report().iterations)),
      free_(free_parameters(initial_model(learned), options)) {
  run_.progress = {};
  run_.warm_start = nullptr;
  run_.every_gap = false;
  run_.substitutes = false;
  lower_ = collect(free_, &FreeParameter::lower);
  upper_ = collect(free_, &FreeParameter::upper);
  mode_.resize(lower_.size());
  const std::vector<Parameter> all = learned.posterior.model().parameters();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Parameter& p) { return p.name == free_[i].name; });
    scales_.push_back(found->scale);
    const auto k = static_cast<Index>(i);
    mode_(k) = std::clamp(found->on_scale(), lower_(k), upper_(k));
  }
}

std::optional<IntegrationFit> IntegrationTarget::fit(const Vector& place) {
  ++fits_;
  Run run = run_;
  const bool from_last = last_ && (last_place_ - place).squaredNorm() < (mode_ - place).squaredNorm();
  run.warm_start = from_last ? &*last_ : &mode_fit_;
  run.progress = [steps = 0, most = most_iterations_](const Iteration&) mutable {
    return ++steps < most ? Next::proceed : Next::accept;
  };
  try {
    Posterior posterior = infer_valid(mode_fit_.model().with_parameters(values(place)), mode_fit_.method(), run);
    if (posterior.report().status == Status::stopped) {
      ++cut_off_;
      return fail(fmt::format("no convergence within {} iterations", most_iterations_));
    }
    if (!usable(posterior)) return fail(posterior.report().message);
    last_ = posterior;
    last_place_ = place;
    return IntegrationFit{log_density(posterior, place), std::move(posterior)};
  } catch (const InvalidInput& error) {
    return fail(error.what());
  }
}

std::optional<double> IntegrationTarget::probe(const Vector& place) {
  const int failures = failures_;
  const auto found = fit(place);
  failures_ = failures;
  if (!found) return std::nullopt;
  return found->log_density;
}

std::optional<Evaluation> IntegrationTarget::evaluate(const Vector& place) {
  const auto at = fit(place);
  if (!at) return std::nullopt;
  Evaluation out{at->log_density, gradient(*at, place)};
  return out.gradient.allFinite() ? std::optional(std::move(out)) : std::nullopt;
}

Vector IntegrationTarget::gradient(const IntegrationFit& fit, const Vector& place) const {
  Vector out(place.size());
  const auto of_evidence = fit.posterior.gradient();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const auto k = static_cast<Index>(i);
    out(k) = of_evidence.at(free_[i].name);
    if (free_[i].hyperprior) out(k) -= hyperprior_z(i, place(k)) / free_[i].hyperprior->sd;
  }
  return out;
}

std::map<std::string, double, std::less<>> IntegrationTarget::values(const Vector& place) const {
  std::map<std::string, double, std::less<>> out;
  for (std::size_t i = 0; i < free_.size(); ++i)
    out[free_[i].name] = value_on(scales_[i], place(static_cast<Index>(i)));
  return out;
}

double IntegrationTarget::value(Index parameter, double place) const {
  return value_on(scales_[static_cast<std::size_t>(parameter)], place);
}

bool IntegrationTarget::proper() const {
  return std::all_of(free_.begin(), free_.end(), [](const FreeParameter& f) { return f.hyperprior.has_value(); });
}

double IntegrationTarget::hyperprior_z(std::size_t parameter, double place) const {
  const LogNormal& prior = *free_[parameter].hyperprior;
  return (place - Parameter{{}, prior.median, true, scales_[parameter]}.on_scale()) / prior.sd;
}

double IntegrationTarget::log_density(const Posterior& posterior, const Vector& place) const {
  double out = posterior.log_evidence().value;
  for (std::size_t i = 0; i < free_.size(); ++i) {
    if (!free_[i].hyperprior) continue;
    const double z = hyperprior_z(i, place(static_cast<Index>(i)));
    out -= 0.5 * (z * z + std::log(2.0 * std::numbers::pi)) + std::log(free_[i].hyperprior->sd);
  }
  return out;
}

std::nullopt_t IntegrationTarget::fail(std::string why) {
  failure_ = std::move(why);
  ++failures_;
  return std::nullopt;
}

}  // namespace gaussmith
