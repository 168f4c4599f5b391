#include "learn/learning_objective.hpp"

#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// An evidence that is uncertain by less than this still leads the search.
constexpr double usable_error = 1e-3;

}  // namespace

LearningObjective::LearningObjective(const Model& model, const Method& method, const Run& run,
                                     const LearnOptions& options, const std::vector<FreeParameter>& free)
    : model_(model), asked_for_(method), method_(method), run_(run), options_(options), free_(free) {
  run_.progress = {};
  run_.warm_start = nullptr;
}

std::optional<Evaluation> LearningObjective::operator()(const Vector& log_values) {
  ++evaluations_;
  std::optional<Posterior> posterior = infer_at(log_values);
  if (!posterior) return std::nullopt;
  const Report& report = posterior->report();
  if (first_of_pass_) {
    // EP may lower its power where it must; the first evaluation decides for all of them, so that they are comparable.
    first_of_pass_ = false;
    milder_ = report.substituted;
    method_ = posterior->method();
    run_.substitutes = false;
  }
  // Rounding may spoil moments long before it spoils the evidence.
  const bool good_enough =
      report.status == Status::inaccurate && posterior->log_evidence().numerical_error < usable_error;
  if (!report.converged() && !good_enough) return fail(report.message);
  Evaluation out = evaluate(*posterior, log_values);
  if (!std::isfinite(out.value) || !out.gradient.allFinite()) return fail(report.message);
  last_ = posterior;
  if (!best_ || out.value > best_value_) {
    best_ = std::move(posterior);
    best_value_ = out.value;
    best_point_ = log_values;
    best_gradient_ = out.gradient;
  }
  return out;
}

std::optional<Posterior> LearningObjective::infer_at(const Vector& log_values) {
  std::map<std::string, double, std::less<>> values;
  for (std::size_t p = 0; p < free_.size(); ++p) values[free_[p].name] = std::exp(log_values(static_cast<Index>(p)));
  Run run = run_;
  if (options_.warm_start && last_) run.warm_start = &*last_;
  try {
    return infer_valid(model_.with_parameters(values), method_, run);
  } catch (const InvalidInput& error) {
    return fail(error.what());
  }
}

Evaluation LearningObjective::evaluate(const Posterior& posterior, const Vector& log_values) const {
  Evaluation out{posterior.log_evidence().value, Vector::Zero(log_values.size()),
                 posterior.log_evidence().numerical_error, posterior.gradient_error()};
  const auto gradient = posterior.gradient();
  for (std::size_t p = 0; p < free_.size(); ++p) {
    const auto i = static_cast<Index>(p);
    out.gradient(i) = gradient.at(free_[p].name);
    if (!free_[p].hyperprior) continue;
    // log N(log theta | log median, sd^2) without its constant.
    const LogNormal& prior = *free_[p].hyperprior;
    const double z = (log_values(i) - std::log(prior.median)) / prior.sd;
    out.value -= 0.5 * z * z;
    out.gradient(i) -= z / prior.sd;
  }
  return out;
}

std::nullopt_t LearningObjective::fail(std::string why) {
  failure_ = std::move(why);
  ++failures_;
  return std::nullopt;
}

void LearningObjective::start_over() {
  best_.reset();
  last_.reset();
  best_value_ = -std::numeric_limits<double>::infinity();
  method_ = asked_for_;
  run_.substitutes = true;
  first_of_pass_ = true;
  milder_ = false;
}

}  // namespace gaussmith
