#include "gaussmith/learn.hpp"

#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "learn/advice.hpp"
#include "learn/best_of_starts.hpp"
#include "learn/climber.hpp"
#include "learn/describe.hpp"
#include "learn/other_maxima.hpp"
#include "learn/row_subset.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace gaussmith {

namespace {

void check_options(const LearnOptions& options) {
  if (options.max_evaluations < 1)
    throw InvalidOption(fmt::format("max_evaluations must be at least 1, found {}", options.max_evaluations));
  if (options.restarts < 0)
    throw InvalidOption(fmt::format("restarts must not be negative, found {}", options.restarts));
  if (!(options.tolerance > 0.0))
    throw InvalidOption(fmt::format("the tolerance of learning must be positive, found {}", options.tolerance));
  if (!(options.restart_spread > 0.0))
    throw InvalidOption(fmt::format("restart_spread must be positive, found {}", options.restart_spread));
}

/// Second derivatives are taken without being asked for up to this many parameters.
constexpr std::size_t few_parameters = 12;
/// What a better point must be better by to be climbed from.
constexpr double passed_by = 1e-3;
/// Tied length-scales are a start: what is left to gain there may be this much.
constexpr double tied_gain = 0.1;
/// Parts of many rows are learned from with up to this many parameters; each is so many times the one before.
constexpr std::size_t most_of_parts = 4;
constexpr Index share_of_rows = 2;
/// Parameters with standard errors below this on their scale have one maximum as far as half of the rows can tell.
constexpr double well_known_error = 0.4;
/// What half of the rows leaves more open than this may be elsewhere with all of them.
constexpr double part_error = 0.5;
/// That half need not be exact.
constexpr double part_tolerance = 1e-2;

/// Where a part of many rows leads, and the Hessian there.
struct PartialResult {
  Index rows;
  Vector scanned;  ///< Where its scan of length-scales led.
  Vector point;
  Curvature curvature;
  double spread;  ///< The largest standard error.

  [[nodiscard]] bool open() const { return spread > part_error; }
};

bool well_known(const Maximum& maximum) {
  if (!maximum.curvature) return false;
  const auto covariance = covariance_at_maximum(maximum.curvature->hessian);
  return covariance && covariance->diagonal().maxCoeff() < well_known_error * well_known_error;
}

/// One call of learn(): ascents from one or several starts over one objective.
class Learning {
 public:
  explicit Learning(const LearnTask& task) : task_(task), climber_(task) {}

  Learned run() {
    if (task_.options.keep) climber_.when_better([this] { task_.options.keep(finish(report_, true, {})); });
    const Vector first = collect(task_.free, &FreeParameter::initial);
    Random random(task_.run.seed);
    ascend_from(first, 0);
    // A start where nothing has a slope, or that leads to a bound, is no good one.
    int starts = task_.options.restarts;
    const bool again = starts == 0 && objective().best() && !climber_.stopped() && (is_flat_start() || ends_at_bound());
    if (again) starts = 1;
    for (int start = 1; start <= starts && !climber_.stopped(); ++start) {
      Vector point = first;
      for (double& value : point) value += task_.options.restart_spread * random.normal();
      ascend_from(point.cwiseMax(climber_.lower()).cwiseMin(climber_.upper()), start, again);
    }
    if (objective().best() && !climber_.stopped()) find_curvature();
    return objective().best() ? finish(report_, climber_.stopped(), curvature_) : fail();
  }

 private:
  [[nodiscard]] const LearningObjective& objective() const { return climber_.objective(); }

  /// A start that nobody asked for is not left unfinished where it is the best.
  void ascend_from(const Vector& point, int start, bool unasked = false) {
    climber_.objective().forget_start();
    const double best_before = objective().best_value();
    climber_.allow(task_.options.max_evaluations);
    Maximum maximum = start == 0 ? explore_and_ascend(point) : climber_.ascend(point);
    if (start == 0 && objective().milder() && objective().best() && !climber_.stopped() && climber_.left() > 0) {
      const Vector reached = objective().best_point();
      climber_.objective().start_over();
      maximum = climber_.ascend(reached);
    }
    if (unasked && maximum.status == Status::iteration_limit && maximum.value > best_before)
      maximum = climber_.ascend_late(maximum.point, Evaluation{maximum.value, maximum.gradient});
    // A look for other maxima that was given up may have passed by something better.
    const double noise = 10.0 * objective().best_evaluation().value_error + passed_by;
    const bool seen = objective().best_value() > std::max(best_before, maximum.value) + noise;
    if (seen && !climber_.stopped() && maximum.status == Status::converged)
      maximum = climber_.ascend_late(Vector(objective().best_point()), Evaluation(objective().best_evaluation()));
    report_.start_objectives.push_back(maximum.value);
    if (objective().best_value() > best_before) {
      report_.best_start = start;
      report_.message = maximum.message;
      report_.status = maximum.status;
      curvature_ = std::move(maximum.curvature);
      left_ = climber_.left();
    }
  }

  /// From the model's own parameters. Kernels with several components begin where the best of several starts lead, many
  /// rows where a part of them leads; all others scan their length-scales.
  Maximum explore_and_ascend(const Vector& point) {
    if (const auto starts = race_of_starts(climber_, point, report_); !starts.empty() && !climber_.stopped())
      return ascend_from_best(climber_, starts, report_);
    const std::optional<PartialResult> part = is_part_ ? std::move(smaller_) : learn_from_parts(point);
    if (part)
      if (std::optional<Maximum> maximum = ascend_from_part(*part)) return std::move(*maximum);
    return scan_and_ascend(point);
  }

  /// First along all length-scales together, then with those of a kernel tied to one another, then free; then a look
  /// around for a better maximum.
  Maximum scan_and_ascend(const Vector& point) {
    const PartialFunction f = [this](const Vector& at) { return climber_(at); };
    std::optional<Evaluated> start = scan_lengthscales(f, point, task_.free, static_cast<double>(task_.model.rows()));
    if (!start) return {-std::numeric_limits<double>::infinity(), Status::numerical_failure, "the start failed"};
    const bool one_a_feature = TiedCoordinates(task_.free, start->point).fewer();
    if (one_a_feature) climb_tied(*start);
    scanned_ = start->point;
    Maximum maximum = climber_.ascend(start->point, start->evaluation);
    if (!one_a_feature) return look_beyond(climber_, std::move(maximum));
    maximum = look_back(climber_, std::move(maximum));
    maximum = look_untied(climber_, std::move(maximum), point);
    return look_among_features(climber_, std::move(maximum));
  }

  /// Moves a start to the best point of a search with tied length-scales.
  void climb_tied(Evaluated& start) {
    const TiedCoordinates tied(task_.free, start.point);
    const PartialFunction f = [&](const Vector& z) -> std::optional<Evaluation> {
      auto evaluation = climber_(tied.point(z));
      if (!evaluation) return std::nullopt;
      if (evaluation->value > start.evaluation.value) start = Evaluated{tied.point(z), *evaluation};
      return tied.gather(std::move(*evaluation));
    };
    const SearchOptions search{
        .max_evaluations = climber_.left(), .tolerance = task_.options.tolerance, .enough = tied_gain};
    const Vector zero = Vector::Zero(tied.lower().size());
    (void)climber_.climb_in(f, tied.lower(), tied.upper(), zero, search, tied.gather(start.evaluation));
  }

  /// From the smallest part up, each from where the one before led, to half of all rows; a part that leaves parameters
  /// open is the last, because larger ones may lead elsewhere. Nothing for few rows, and for length-scales of single
  /// features, which a part of the rows may not show.
  std::optional<PartialResult> learn_from_parts(const Vector& first) {
    const Index rows = task_.model.rows();
    if (rows < many_rows || task_.free.size() > most_of_parts || TiedCoordinates(task_.free, first).fewer()) return {};
    std::vector<Index> counts = {rows / share_of_rows};
    while (counts.back() >= many_rows) counts.push_back(counts.back() / share_of_rows);
    std::optional<PartialResult> result;
    for (auto count = counts.rbegin(); count != counts.rend() && !climber_.stopped(); ++count) {
      const std::optional<Model> part = row_subset(task_.model, *count);
      if (!part) return {};
      result = learn_from(*part, first, std::move(result));
      if (result && result->open()) break;
    }
    return result;
  }

  /// Nothing where the part ends at a bound or does not come to an end.
  std::optional<PartialResult> learn_from(const Model& part, const Vector& first,
                                          std::optional<PartialResult> smaller) {
    LearnOptions options = task_.options;
    options.restarts = 0;
    options.standard_errors = true;
    options.keep = {};
    options.tolerance = std::max(options.tolerance, part_tolerance);
    Run run = task_.run;
    run.progress = [this](const Iteration& iteration) {
      climber_.tell({0, iteration.objective, iteration.residual, "learning from a part of the rows"});
      return climber_.stopped() ? Next::accept : Next::proceed;
    };
    Learning learning({part, task_.method, options, run, task_.free});
    learning.is_part_ = true;
    learning.smaller_ = std::move(smaller);
    std::optional<Learned> result;
    try {
      result = learning.run();
    } catch (const InvalidInput&) {
      return {};  // What a part cannot do, all rows may.
    }
    const Learned& learned = *result;
    report_.part_rows = part.rows();
    report_.part_evaluations += learned.report.evaluations;
    if (learned.report.status == Status::stopped) {
      // The caller keeps what there is: the fit of all rows where the part has come to.
      (void)climber_.objective()(learning.objective().best() ? learning.objective().best_point() : first);
      climber_.stop();
      return {};
    }
    const auto& curvature = learning.curvature_;
    if (learned.report.status != Status::converged || !curvature || curvature->coordinates.size() != task_.free.size())
      return {};
    const auto covariance = covariance_at_maximum(curvature->hessian);
    if (!covariance || learning.scanned_.size() == 0) return {};
    return PartialResult{part.rows(), learning.scanned_, learning.objective().best_point(), *curvature,
                         std::sqrt(covariance->diagonal().maxCoeff())};
  }

  /// All rows, from where a part led; nothing where that has no value.
  std::optional<Maximum> ascend_from_part(const PartialResult& part) {
    if (part.open()) {
      // Where to climb from is seen in a part; where that leads is not.
      const auto there = climber_(part.scanned);
      if (!there) return std::nullopt;
      return look_beyond(climber_, climber_.ascend(part.scanned, there));
    }
    scanned_ = part.scanned;
    const double growth = static_cast<double>(task_.model.rows()) / static_cast<double>(part.rows);
    const Curvature grown{part.curvature.coordinates, growth * part.curvature.hessian};
    const SearchOptions search{.max_evaluations = climber_.left(),
                               .tolerance = task_.options.tolerance,
                               .radius = std::clamp(2.0 * part.spread, 0.1, 1.0),
                               .near_enough = near_enough,
                               .curvature = &grown};
    Maximum maximum = climber_.climb(part.point, search);
    if (maximum.point.size() == 0) return std::nullopt;
    // The part has looked for other maxima; all rows look again where they leave parameters open.
    return well_known(maximum) ? maximum : look_beyond(climber_, std::move(maximum));
  }

  /// Whether at the first point nothing, or no length-scale of a kernel, has a slope: a periodic kernel whose period is
  /// the spacing of the inputs is one number for all pairs of rows.
  [[nodiscard]] bool is_flat_start() const {
    if (!climber_.first()) return false;
    const Evaluation& first = *climber_.first();
    const double goal = gradient_goal(task_.options.tolerance, first);
    if (first.gradient.lpNorm<Eigen::Infinity>() <= goal) return true;
    for (const auto& group : lengthscale_groups(task_.free))
      if (std::all_of(group.begin(), group.end(), [&](Index i) { return std::abs(first.gradient(i)) <= 1e-3 * goal; }))
        return true;
    return false;
  }

  /// Whether a parameter other than one length-scale of many is at a bound: those only say that a feature does not
  /// matter.
  [[nodiscard]] bool ends_at_bound() const {
    for (std::size_t p = 0; p < task_.free.size(); ++p) {
      const FreeParameter& parameter = task_.free[p];
      const double place = objective().best_point()(static_cast<Index>(p));
      const bool one_of_many = parameter.name.find("lengthscale[") != std::string::npos && parameter.at_upper(place);
      if ((parameter.at_lower(place) || parameter.at_upper(place)) && !one_of_many) return true;
    }
    return false;
  }

  /// Second derivatives at the best point, unless the search ended with them.
  void find_curvature() {
    if (!task_.options.standard_errors.value_or(task_.free.size() <= few_parameters)) {
      curvature_.reset();
      return;
    }
    if (curvature_) return;
    climber_.allow(left_);
    curvature_ = climber_.curvature_at_best();
  }

  /// Every evaluation failed: the fit at the start says why.
  Learned fail() {
    Posterior posterior = infer_valid(task_.model, task_.method, task_.run);
    count_evaluations(report_);
    report_.status = Status::numerical_failure;
    report_.message = fmt::format("no evaluation of the evidence succeeded: {}", fmt::join(report_.failures, "; "));
    report_.initial_objective = report_.objective = posterior.log_evidence().value;
    return {std::move(posterior), std::move(report_)};
  }

  void count_evaluations(LearnReport& report) const {
    if (climber_.first()) report.initial_objective = climber_.first()->value;
    report.evaluations = objective().evaluations();
    report.curvature_evaluations = climber_.curvature_evaluations();
    report.failed_evaluations = objective().failures();
    for (const auto& [reason, times] : objective().reasons())
      report.failures.push_back(times == 1 ? reason : fmt::format("{} ({} times)", reason, times));
  }

  /// What there is at the best point so far.
  [[nodiscard]] Learned finish(LearnReport report, bool stopped, const std::optional<Curvature>& curvature) const {
    count_evaluations(report);
    const Posterior& best = *objective().best();
    const Evaluation& there = objective().best_evaluation();
    report.objective = there.value;
    // Among values that their errors cannot tell apart, the best point is not always the highest.
    for (double& value : report.start_objectives) value = std::min(value, there.value);
    report.log_hyperprior = there.value - best.log_evidence().value;
    report.residual =
        projected_gradient(there.gradient, objective().best_point(), task_.free).lpNorm<Eigen::Infinity>();
    if (report.status == Status::iteration_limit)
      report.message = fmt::format("all {} evaluations that learn.max_evaluations allows are used", report.evaluations);
    if (stopped) {
      report.status = Status::stopped;
      report.message = "stopped by the caller; the best parameters so far are kept";
    } else if (report.residual <= gradient_goal(task_.options.tolerance, there)) {
      report.status = Status::converged;
      report.message = fmt::format("largest projected gradient {:.1e}", report.residual);
    }
    warn_of_milder(objective(), task_.method, report);
    warn_of_estimates(best, there, task_.options.tolerance, report);
    describe_parameters(task_.model, objective(), task_.free, curvature, report);
    for (std::string& line : advice(report, task_.free, objective().best_point()))
      report.warnings.push_back(std::move(line));
    return {best, std::move(report)};
  }

  LearnTask task_;
  Climber climber_;
  LearnReport report_;
  std::optional<Curvature> curvature_;    ///< At the best point.
  bool is_part_ = false;                  ///< This is a search over a part of the rows,
  std::optional<PartialResult> smaller_;  ///< from where a smaller one led.
  Vector scanned_;                        ///< Where the scan of length-scales led.
  int left_ = 0;                          ///< Evaluations that the best start did not use.
};

/// There is nothing to learn: the fit as it is.
Learned only_infer(const Model& model, const Method& method, const Run& run) {
  Posterior posterior = infer_valid(model, method, run);
  LearnReport report;
  report.message = "no parameter is free to learn";
  report.warnings.emplace_back("there is nothing to learn: no parameter of the model is free");
  report.evaluations = 1;
  report.initial_objective = report.objective = posterior.log_evidence().value;
  report.start_objectives = {report.objective};
  for (const Parameter& p : model.parameters())
    report.parameters.push_back({p.name, p.value, p.value, 0.0, true, false});
  return {std::move(posterior), std::move(report)};
}

}  // namespace

Learned learn(const Model& model, const Method& method, const LearnOptions& options, const Run& run) {
  check_options(options);
  if (is_sampler(method))
    throw InvalidOption(fmt::format(
        "{} has no gradient of the evidence and learns nothing; learn with ep, kl or laplace", name_of(method)));
  model.validate();
  const std::vector<FreeParameter> free = free_parameters(model, options);
  if (free.empty()) return only_infer(model, method, run);
  return Learning({model, method, options, run, free}).run();
}

}  // namespace gaussmith
