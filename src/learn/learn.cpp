#include "gaussmith/learn.hpp"

#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "learn/maximise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace gaussmith {

namespace {

/// Closer to a bound than this in the logarithm counts as at it.
constexpr double bound_margin = 1e-6;

/// One free parameter on the log scale.
struct Free {
  std::string name;
  double lower, upper;
  std::optional<LogNormal> hyperprior;
};

/// What learning maximises: log evidence plus log hyperpriors, as a function of log parameters. Remembers the best
/// posterior seen, so that nothing is inferred twice.
class Objective {
 public:
  Objective(const Model& model, const Method& method, const Run& run, const LearnOptions& options,
            std::vector<Free> free)
      : model_(model), asked_for_(method), method_(method), run_(run), options_(options), free_(std::move(free)) {
    run_.progress = {};
    run_.warm_start = nullptr;
  }

  /// Empty when inference fails here or does not converge: such a step has left the valid region.
  std::optional<Evaluation> operator()(const Vector& log_values) {
    ++evaluations_;
    std::map<std::string, double, std::less<>> values;
    for (std::size_t p = 0; p < free_.size(); ++p) values[free_[p].name] = std::exp(log_values(static_cast<Index>(p)));
    Run run = run_;
    if (options_.warm_start && last_) run.warm_start = &*last_;
    std::optional<Posterior> posterior;
    try {
      posterior = infer(model_.with_parameters(values), method_, run);
    } catch (const InvalidInput& error) {
      failure_ = error.what();
      ++failures_;
      return std::nullopt;
    }
    if (first_of_pass_) keep_method(posterior->method(), posterior->report().substituted);
    if (!posterior->report().converged()) {
      failure_ = posterior->report().message;
      ++failures_;
      return std::nullopt;
    }
    Evaluation out{posterior->log_evidence().value, Vector::Zero(log_values.size())};
    const auto gradient = posterior->gradient();
    for (std::size_t p = 0; p < free_.size(); ++p) {
      const auto i = static_cast<Index>(p);
      out.gradient(i) = gradient.at(free_[p].name);
      if (free_[p].hyperprior) {
        // log N(log theta | log median, sd^2) without its constant.
        const double z = (log_values(i) - std::log(free_[p].hyperprior->median)) / free_[p].hyperprior->sd;
        out.value -= 0.5 * z * z;
        out.gradient(i) -= z / free_[p].hyperprior->sd;
      }
    }
    if (!std::isfinite(out.value) || !out.gradient.allFinite()) {
      failure_ = posterior->report().message;
      ++failures_;
      return std::nullopt;
    }
    last_ = posterior;
    if (!best_ || out.value > best_value_) {
      best_ = std::move(posterior);
      best_value_ = out.value;
      best_point_ = log_values;
      best_gradient_ = out.gradient;
    }
    return out;
  }

  void forget_start() { last_.reset(); }

  /// Evidences of two methods are not one objective: learning starts over with the method that was asked for, from the
  /// best point of the milder one.
  void start_over() {
    best_.reset();
    last_.reset();
    best_value_ = -std::numeric_limits<double>::infinity();
    method_ = asked_for_;
    run_.substitutes = true;
    first_of_pass_ = true;
    milder_ = false;
  }
  [[nodiscard]] bool milder() const { return milder_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] int failures() const { return failures_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }
  [[nodiscard]] const std::optional<Posterior>& best() const { return best_; }
  [[nodiscard]] double best_value() const { return best_value_; }
  [[nodiscard]] const Vector& best_point() const { return best_point_; }
  [[nodiscard]] const Vector& best_gradient() const { return best_gradient_; }

 private:
  /// EP may lower its power where it must; the first evaluation decides for all of them, so that they are comparable.
  void keep_method(const Method& used, bool substituted) {
    first_of_pass_ = false;
    milder_ = substituted;
    method_ = used;
    run_.substitutes = false;
  }

  const Model& model_;
  Method asked_for_, method_;
  Run run_;
  const LearnOptions& options_;
  std::vector<Free> free_;
  std::optional<Posterior> last_, best_;
  double best_value_ = -std::numeric_limits<double>::infinity();
  Vector best_point_, best_gradient_;
  std::string failure_;
  int evaluations_ = 0, failures_ = 0;
  bool first_of_pass_ = true, milder_ = false;
};

void check_range(const std::string& name, const Bounds& bounds) {
  if (!(bounds.lower > 0.0) || !(bounds.lower < bounds.upper) || !std::isfinite(bounds.upper))
    throw InvalidOption(
        fmt::format("bounds of {} must be 0 < lower < upper, found {} and {}", name, bounds.lower, bounds.upper));
}

std::vector<Free> free_parameters(const Model& model, const LearnOptions& options) {
  std::set<std::string> fixed;
  for (const std::string& name : options.fixed) fixed.insert(model.resolve_parameter(name));
  std::map<std::string, Bounds> bounds;
  for (const auto& [name, range] : options.bounds) {
    check_range(name, range);
    bounds[model.resolve_parameter(name)] = range;
  }
  check_range("parameters (default_bounds)", options.default_bounds);
  std::map<std::string, LogNormal> hyperpriors;
  for (const auto& [name, prior] : options.hyperpriors) {
    if (!(prior.median > 0.0) || !(prior.sd > 0.0) || !std::isfinite(prior.median) || !std::isfinite(prior.sd))
      throw InvalidOption(fmt::format("the hyperprior of {} needs a positive median and sd, found {} and {}", name,
                                      prior.median, prior.sd));
    hyperpriors[model.resolve_parameter(name)] = prior;
  }
  std::vector<Free> free;
  for (const Parameter& p : model.parameters()) {
    if (!p.learnable || fixed.contains(p.name)) continue;
    const auto own = bounds.find(p.name);
    Bounds range = own == bounds.end() ? options.default_bounds : own->second;
    if (own == bounds.end()) {
      // A starting value outside the default range is the user's word that such values make sense.
      range.lower = std::min(range.lower, p.value);
      range.upper = std::max(range.upper, p.value);
    } else if (p.value < range.lower || p.value > range.upper) {
      throw InvalidOption(
          fmt::format("{} starts at {}, outside its bounds [{}, {}]", p.name, p.value, range.lower, range.upper));
    }
    const auto prior = hyperpriors.find(p.name);
    free.push_back({p.name, std::log(range.lower), std::log(range.upper),
                    prior == hyperpriors.end() ? std::nullopt : std::optional(prior->second)});
  }
  return free;
}

/// Learning does without gradients that point out of the box.
Vector projected_gradient(const Vector& gradient, const Vector& point, const std::vector<Free>& free) {
  Vector out = gradient;
  for (Index i = 0; i < out.size(); ++i) {
    const Free& f = free[static_cast<std::size_t>(i)];
    if (point(i) <= f.lower + bound_margin && out(i) < 0.0) out(i) = 0.0;
    if (point(i) >= f.upper - bound_margin && out(i) > 0.0) out(i) = 0.0;
  }
  return out;
}

}  // namespace

Learned learn(const Model& model, const Method& method, const LearnOptions& options, const Run& run) {
  if (options.max_evaluations < 1)
    throw InvalidOption(fmt::format("max_evaluations must be at least 1, found {}", options.max_evaluations));
  if (options.restarts < 0)
    throw InvalidOption(fmt::format("restarts must not be negative, found {}", options.restarts));
  if (!(options.tolerance > 0.0))
    throw InvalidOption(fmt::format("the tolerance of learning must be positive, found {}", options.tolerance));
  if (!(options.restart_spread > 0.0))
    throw InvalidOption(fmt::format("restart_spread must be positive, found {}", options.restart_spread));
  model.validate();
  const std::vector<Free> free = free_parameters(model, options);
  const auto count = static_cast<Index>(free.size());
  std::map<std::string, double> initial;
  for (const Parameter& p : model.parameters()) initial[p.name] = p.value;

  LearnReport report;
  if (free.empty()) {
    Posterior posterior = infer(model, method, run);
    report.message = "no parameter is free to learn";
    report.evaluations = 1;
    report.initial_objective = report.objective = posterior.log_evidence().value;
    report.start_objectives = {report.objective};
    for (const Parameter& p : model.parameters())
      report.parameters.push_back({p.name, p.value, p.value, 0.0, true, false});
    return {std::move(posterior), std::move(report)};
  }

  Vector lower(count);
  Vector upper(count);
  Vector first_start(count);
  for (Index i = 0; i < count; ++i) {
    lower(i) = free[static_cast<std::size_t>(i)].lower;
    upper(i) = free[static_cast<std::size_t>(i)].upper;
    first_start(i) = std::clamp(std::log(initial.at(free[static_cast<std::size_t>(i)].name)), lower(i), upper(i));
  }

  Objective objective(model, method, run, options, free);
  Random random(run.seed);
  bool stopped = false;
  for (int start = 0; start <= options.restarts && !stopped; ++start) {
    Vector point = first_start;
    if (start > 0)
      for (Index i = 0; i < count; ++i)
        point(i) = std::clamp(first_start(i) + options.restart_spread * random.normal(), lower(i), upper(i));
    objective.forget_start();
    const double best_before = objective.best_value();
    const auto ascend = [&](const Vector& from) {
      return maximise(
          [&](const Vector& at) {
            auto evaluation = objective(at);
            if (start == 0 && objective.evaluations() == 1) {
              // A model that cannot even be fitted where the user starts is told as infer() would tell it.
              if (!evaluation && !objective.best())
                (void)infer(model, method, [&] {
                  Run r = run;
                  r.progress = {};
                  return r;
                }());
              if (evaluation) report.initial_objective = evaluation->value;
            }
            if (run.progress) {
              const double residual = evaluation
                                          ? projected_gradient(evaluation->gradient, at, free).lpNorm<Eigen::Infinity>()
                                          : std::numeric_limits<double>::infinity();
              const Next next = run.progress({objective.evaluations(), objective.best_value(), residual, "learning"});
              if (next == Next::discard) throw Interrupted();
              if (next == Next::accept) stopped = true;
            }
            return evaluation;
          },
          [&] { return stopped; }, from, lower, upper, options.max_evaluations, options.tolerance);
    };
    Ascent ascent = ascend(point);
    if (start == 0 && objective.milder() && objective.best() && !stopped) {
      const Vector reached = objective.best_point();
      objective.start_over();
      ascent = ascend(reached);
    }
    report.start_objectives.push_back(ascent.value);
    if (objective.best_value() > best_before) {
      report.best_start = start;
      report.message = ascent.message;
      report.status = ascent.status;
    }
  }

  report.evaluations = objective.evaluations();
  report.failed_evaluations = objective.failures();
  if (!objective.best()) {
    // Every evaluation failed: return the fit at the start, which says why.
    Posterior posterior = infer(model, method, run);
    report.status = Status::numerical_failure;
    report.message = "no evaluation of the evidence succeeded: " + objective.failure();
    report.initial_objective = report.objective = posterior.log_evidence().value;
    return {std::move(posterior), std::move(report)};
  }
  report.objective = objective.best_value();
  const Vector projected = projected_gradient(objective.best_gradient(), objective.best_point(), free);
  report.residual = projected.lpNorm<Eigen::Infinity>();
  if (stopped) {
    report.status = Status::stopped;
    report.message = "stopped by the caller; the best parameters so far are kept";
  } else if (report.residual <= options.tolerance) {
    report.status = Status::converged;
    report.message = fmt::format("largest projected gradient {:.1e}", report.residual);
  }
  const Posterior& best = *objective.best();
  if (objective.milder())
    report.warnings.push_back(fmt::format("learned with a milder method than asked for: {} at power {:.2g}",
                                          name_of(best.method()), std::get<Ep>(best.method()).power));
  for (const Parameter& p : best.model().parameters()) {
    const auto it = std::find_if(free.begin(), free.end(), [&](const Free& f) { return f.name == p.name; });
    LearnedParameter learned{p.name, initial.at(p.name), p.value, 0.0, it == free.end(), false};
    if (it != free.end()) {
      const auto i = static_cast<Index>(it - free.begin());
      learned.gradient = objective.best_gradient()(i);
      learned.at_bound = objective.best_point()(i) <= it->lower + bound_margin ||
                         objective.best_point()(i) >= it->upper - bound_margin;
    }
    report.parameters.push_back(learned);
  }
  return {best, std::move(report)};
}

}  // namespace gaussmith
