#include "learn/learning_objective.hpp"

#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "model/latents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// An evidence that is uncertain by less than this still leads the search.
constexpr double usable_error = 1e-2;
/// Inference that takes this many iterations, and this many times those of the cheapest evaluation, is given up.
constexpr int patience = 20;
constexpr int patience_factor = 10;

}  // namespace

LearningObjective::LearningObjective(const Model& model, const Method& method, const Run& run,
                                     const LearnOptions& options, const std::vector<FreeParameter>& free)
    : model_(model), asked_for_(method), method_(method), run_(run), options_(options), free_(free) {
  run_.progress = [this](const Iteration&) { return ++iterations_ > most_iterations() ? Next::accept : Next::proceed; };
  run_.warm_start = nullptr;
  run_.every_gap = false;
  set_anchor();
}

void LearningObjective::set_anchor() {
  // What somebody holds or has an opinion on is not moved.
  const auto is_free = [&](const std::string& name) {
    return std::any_of(free_.begin(), free_.end(),
                       [&](const FreeParameter& f) { return f.name == name && !f.hyperprior; });
  };
  int scales = 0;
  anchored_ = scale_is_free_ = true;
  for (const Parameter& p : model_.parameters()) {
    if (p.name.starts_with("prior.latent_covariance.") && !is_free(p.name)) anchored_ = false;
    if (p.name != "prior.variance" && !p.name.ends_with("signal_sd")) continue;
    ++scales;
    scale_is_free_ = scale_is_free_ && is_free(p.name);
  }
  scale_is_free_ = scale_is_free_ && scales > 0;
}

int LearningObjective::most_iterations() const {
  constexpr int most = std::numeric_limits<int>::max();
  return cheapest_ == most ? most : patience + patience_factor * cheapest_;
}

std::optional<Evaluation> LearningObjective::operator()(const Vector& places) {
  ++evaluations_;
  std::optional<Posterior> posterior = infer_at(places);
  if (!posterior) return std::nullopt;
  const Report& report = posterior->report();
  if (iterations_ > most_iterations())
    return fail(fmt::format("given up after {} iterations of inference, {} times the cheapest evaluation",
                            patience + patience_factor * cheapest_, patience_factor));
  if (first_of_pass_) {
    // EP may lower its power where it must; the first evaluation decides for all of them, so that they are comparable.
    first_of_pass_ = false;
    milder_ = report.substituted;
    method_ = posterior->method();
    run_.substitutes = false;
  }
  if (report.status == Status::numerical_failure) return fail(report.message);
  Evaluation out = evaluate(*posterior, places);
  if (!std::isfinite(out.value) || !out.gradient.allFinite()) return fail(report.message);
  if (!(out.value_error < usable_error))
    return fail(
        fmt::format("rounding or unfinished inference left the evidence uncertain by more than {}", usable_error));
  cheapest_ = std::min(cheapest_, std::max(iterations_, 1));
  // The point that the search goes on from, so that sites that are not log-concave stay on one branch of their optima.
  if (!from_ || out.value > from_value_) {
    from_ = posterior;
    from_value_ = out.value;
  }
  if (better(*posterior, out, places)) {
    best_ = std::move(posterior);
    best_evaluation_ = out;
    best_point_ = places;
  }
  return out;
}

bool LearningObjective::better(const Posterior& posterior, const Evaluation& evaluation, const Vector& places) const {
  if (!best_) return true;
  const double noise = evaluation.value_error + best_evaluation_.value_error;
  if (std::abs(evaluation.value - best_evaluation_.value) > noise) return evaluation.value > best_evaluation_.value;
  if (posterior.report().converged() != best_->report().converged()) return posterior.report().converged();
  const auto slope = [&](const Vector& gradient, const Vector& at) {
    return projected_gradient(gradient, at, free_).lpNorm<Eigen::Infinity>();
  };
  return slope(evaluation.gradient, places) < slope(best_evaluation_.gradient, best_point_);
}

std::optional<Posterior> LearningObjective::infer_at(const Vector& places) {
  std::map<std::string, double, std::less<>> values;
  for (std::size_t p = 0; p < free_.size(); ++p)
    values[free_[p].name] = value_on(free_[p].scale, places(static_cast<Index>(p)));
  Run run = run_;
  if (options_.warm_start && from_) run.warm_start = &*from_;
  iterations_ = 0;
  try {
    return infer_valid(model_.with_parameters(values), method_, run);
  } catch (const InvalidInput& error) {
    return fail(error.what());
  }
}

Evaluation LearningObjective::evaluate(const Posterior& posterior, const Vector& places) const {
  Evaluation out{posterior.log_evidence().value, Vector::Zero(places.size()), posterior.log_evidence().numerical_error,
                 posterior.gradient_error()};
  if (out.value < floor_) return out;
  auto gradient = posterior.gradient();
  if (anchored_) out.value += latent_anchor(posterior.model().latents, scale_is_free_, gradient);
  for (std::size_t p = 0; p < free_.size(); ++p) {
    const auto i = static_cast<Index>(p);
    out.gradient(i) = gradient.at(free_[p].name);
    if (!free_[p].hyperprior) continue;
    // log N(place | place of the median, sd^2) without its constant.
    const double z = free_[p].z_of(places(i));
    out.value -= 0.5 * z * z;
    out.gradient(i) -= z / free_[p].hyperprior->sd;
  }
  return out;
}

std::nullopt_t LearningObjective::fail(const std::string& why) {
  const auto known =
      std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& reason) { return reason.first == why; });
  if (known == reasons_.end())
    reasons_.emplace_back(why, 1);
  else
    ++known->second;
  ++failures_;
  return std::nullopt;
}

void LearningObjective::start_over() {
  best_.reset();
  from_.reset();
  best_evaluation_ = {-std::numeric_limits<double>::infinity(), {}};
  method_ = asked_for_;
  run_.substitutes = true;
  first_of_pass_ = true;
  milder_ = false;
}

}  // namespace gaussmith
