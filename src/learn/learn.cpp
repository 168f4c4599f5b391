#include "gaussmith/learn.hpp"

#include "base/progress.hpp"
#include "engines/infer_valid.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "kernels/starting_period.hpp"
#include "learn/advice.hpp"
#include "learn/candidate_starts.hpp"
#include "learn/explore.hpp"
#include "learn/free_parameters.hpp"
#include "learn/learning_objective.hpp"
#include "learn/maximise.hpp"
#include "learn/race.hpp"
#include "learn/row_subset.hpp"
#include "model/prior.hpp"

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
/// Tied length-scales are a start: what is left to gain there may be this much.
constexpr double tied_gain = 0.1;
/// Other maxima are looked for up to this many parameters, where the function is not this far below, and falls by less
/// than this share of what the curvature says.
constexpr std::size_t most_beyond = 4;
constexpr double far_below = 30.0;
constexpr double surprise = 0.25;
/// From this many rows on, the search begins with what half of them says, and so on down.
constexpr Index many_rows = 400;
constexpr Index share_of_rows = 2;
/// Parameters with standard errors below this on their scale have one maximum as far as half of the rows can tell.
constexpr double well_known_error = 0.4;
/// What half of the rows leaves more open than this may be elsewhere with all of them.
constexpr double part_error = 0.5;
/// That half need not be exact.
constexpr double part_tolerance = 1e-2;
/// With many rows, evaluations are dear: so near to the maximum, in standard errors, is there.
constexpr double near_enough = 1e-3;

/// Starts of kernels with several components are compared over at most this many rows, with this many periods, where
/// at least this many evaluations are allowed.
constexpr Index race_rows = 300;
constexpr std::size_t race_periods = 3;
constexpr int race_evaluations = 60;
/// Evaluations for that, as a multiple of those for one start.
constexpr int race_share = 2;
/// What a search from one of several starts may leave to gain before they are compared.
constexpr double final_gain = 0.05;
/// Their first steps: they begin near a maximum.
constexpr double final_radius = 0.3;

/// Another maximum is told of where it is no more than this below, and so far away in a length-scale or period.
constexpr double rival_gain = 1.0;
constexpr double rival_distance = 0.5;

/// Evaluations of a search with length-scales that were never tied, and how far below what is known it may be after
/// them to go on.
constexpr int untied_evaluations = 12;
constexpr double untied_fall = 4.0;
/// What it must be better by to be another maximum, not the same by another way.
constexpr double untied_gain = 1e-3;
/// So near in its parameters it has come back, but for length-scales that are this far above their start.
constexpr double untied_distance = 0.25;
const double untied_sight = std::log(8.0);
/// Length-scales of features are looked along one by one up to this many of them, by this step; a search follows from
/// so many of these points at most, and where the function falls by less than this or rises further on.
constexpr std::size_t most_features = 20;
const double feature_step = std::log(4.0);
constexpr std::size_t feature_searches = 3;
constexpr double feature_fall = 2.0;

/// One call of learn(): ascents from one or several starts over one objective.
class Learning {
 public:
  Learning(const Model& model, const Method& method, const LearnOptions& options, const Run& run,
           const std::vector<FreeParameter>& free)
      : model_(model),
        method_(method),
        options_(options),
        run_(run),
        free_(free),
        lower_(collect(free, &FreeParameter::lower)),
        upper_(collect(free, &FreeParameter::upper)),
        objective_(model, method, run, options, free),
        progress_(run.progress, nullptr) {}

  Learned run() {
    const Vector first = collect(free_, &FreeParameter::initial);
    Random random(run_.seed);
    ascend_from(first, 0);
    // A start where nothing has a slope, or that leads to a bound, is no good one.
    int starts = options_.restarts;
    if (starts == 0 && objective_.best() && !stopped_ && (flat_start_ || ends_at_bound())) starts = 1;
    for (int start = 1; start <= starts && !stopped_; ++start) {
      Vector point = first;
      for (double& value : point) value += options_.restart_spread * random.normal();
      ascend_from(point.cwiseMax(lower_).cwiseMin(upper_), start);
    }
    if (objective_.best() && !stopped_) find_curvature();
    report_.evaluations = objective_.evaluations();
    report_.failed_evaluations = objective_.failures();
    for (const auto& [reason, times] : objective_.reasons())
      report_.failures.push_back(times == 1 ? reason : fmt::format("{} ({} times)", reason, times));
    return objective_.best() ? finish() : fail();
  }

 private:
  void ascend_from(const Vector& point, int start) {
    objective_.forget_start();
    const double best_before = objective_.best_value();
    left_here_ = options_.max_evaluations;
    Maximum maximum = start == 0 ? explore_and_ascend(point) : ascend(point);
    if (start == 0 && objective_.milder() && objective_.best() && !stopped_ && left_here_ > 0) {
      const Vector reached = objective_.best_point();
      objective_.start_over();
      maximum = ascend(reached);
    }
    report_.start_objectives.push_back(maximum.value);
    if (objective_.best_value() > best_before) {
      report_.best_start = start;
      report_.message = maximum.message;
      report_.status = maximum.status;
      curvature_ = std::move(maximum.curvature);
      left_ = left_here_;
    }
  }

  /// Where a part of many rows leads, and the Hessian there.
  struct PartialResult {
    Index rows;
    Vector scanned;  ///< Where its scan of length-scales led.
    Vector point;
    Curvature curvature;
    double spread;  ///< The largest standard error.

    [[nodiscard]] bool open() const { return spread > part_error; }
  };

  /// From the smallest part up, each from where the one before led, to half of all rows; a part that leaves parameters
  /// open is the last, because larger ones may lead elsewhere. Nothing for few rows, and for length-scales of single
  /// features, which a part of the rows may not show.
  std::optional<PartialResult> learn_from_parts(const Vector& first) {
    if (model_.rows() < many_rows || free_.size() > most_beyond || TiedCoordinates(free_, first).fewer()) return {};
    std::vector<Index> counts = {model_.rows() / share_of_rows};
    while (counts.back() >= many_rows) counts.push_back(counts.back() / share_of_rows);
    std::optional<PartialResult> result;
    for (auto count = counts.rbegin(); count != counts.rend() && !stopped_; ++count) {
      const std::optional<Model> part = row_subset(model_, *count);
      if (!part) return {};
      result = learn_from(*part, first, std::move(result));
      if (result && result->open()) break;
    }
    return result;
  }

  /// Nothing where the part ends at a bound or does not come to an end.
  std::optional<PartialResult> learn_from(const Model& part, const Vector& first,
                                          std::optional<PartialResult> smaller) {
    LearnOptions options = options_;
    options.restarts = 0;
    options.standard_errors = true;
    options.tolerance = std::max(options.tolerance, part_tolerance);
    Run run = run_;
    run.progress = [this](const Iteration& iteration) {
      return progress_.tell({0, iteration.objective, iteration.residual, "learning from a part of the rows"});
    };
    Learning learning(part, method_, options, run, free_);
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
      (void)objective_(learning.objective_.best() ? learning.objective_.best_point() : first);
      stopped_ = true;
      return {};
    }
    const auto& curvature = learning.curvature_;
    if (learned.report.status != Status::converged || !curvature || curvature->coordinates.size() != free_.size())
      return {};
    const auto covariance = covariance_at_maximum(curvature->hessian);
    if (!covariance || learning.scanned_.size() == 0) return {};
    return PartialResult{part.rows(), learning.scanned_, learning.objective_.best_point(), *curvature,
                         std::sqrt(covariance->diagonal().maxCoeff())};
  }

  [[nodiscard]] static bool well_known(const Maximum& maximum) {
    if (!maximum.curvature) return false;
    const auto covariance = covariance_at_maximum(maximum.curvature->hessian);
    return covariance && covariance->diagonal().maxCoeff() < well_known_error * well_known_error;
  }

  /// Where kernels with several components had better begin: those of the candidate starts that lead furthest, best
  /// first, judged over a part of the rows where there are many. Empty for others, and where evaluations are few.
  std::vector<Evaluated> race_of_starts(const Vector& first) {
    if (!has_components(free_) || options_.max_evaluations < race_evaluations) return {};
    const GaussianProcess* process = process_of(model_.prior);
    std::vector<double> periods;
    if (process != nullptr && model_.sites.size() == 1)
      periods = strongest_periods(*process->inputs, model_.sites.front()->responses(), race_periods);
    const std::vector<Vector> starts = candidate_starts(free_, first, periods);
    const RaceOptions options{.max_evaluations = race_share * options_.max_evaluations,
                              .narrow = places_of_periods(free_)};
    const bool many = model_.rows() > race_rows;
    const std::optional<Model> part = many ? row_subset(model_, race_rows) : std::nullopt;
    const auto stop = [&] { return stopped_; };
    if (!part) {
      left_here_ = options.max_evaluations;
      std::vector<Evaluated> out = race(counted_, stop, starts, lower_, upper_, options);
      left_here_ = options_.max_evaluations;
      return out;
    }
    LearningObjective objective(*part, method_, quiet_run(), options_, free_);
    const PartialFunction f = [&](const Vector& at) {
      auto evaluation = objective(at);
      const Next next = progress_.tell({0, objective.best_value(), 0.0, "learning from a part of the rows"});
      if (next == Next::accept) stopped_ = true;
      return evaluation;
    };
    std::vector<Evaluated> out = race(f, stop, starts, lower_, upper_, options);
    report_.part_rows = race_rows;
    report_.part_evaluations = objective.evaluations();
    // The caller keeps what there is.
    if (stopped_) (void)objective_(out.empty() ? first : out.front().point);
    return out;
  }

  /// Searches from several starts until little is left to gain, then the best of them to its end.
  Maximum ascend_from_best(const std::vector<Evaluated>& starts) {
    std::vector<Evaluated> ends;
    for (const Evaluated& start : starts) {
      objective_.forget_start();
      const SearchOptions search{
          .max_evaluations = left_here_, .tolerance = options_.tolerance, .radius = final_radius, .enough = final_gain};
      Maximum reached = maximise(
          counted_, [&] { return stopped_; }, start.point, lower_, upper_, search);
      report_.curvature_evaluations += reached.curvature_evaluations;
      if (reached.point.size() > 0)
        ends.push_back({std::move(reached.point), Evaluation{reached.value, std::move(reached.gradient)}});
    }
    if (ends.empty()) return {-std::numeric_limits<double>::infinity(), Status::numerical_failure, "the starts failed"};
    std::stable_sort(ends.begin(), ends.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.evaluation.value > b.evaluation.value; });
    Maximum maximum = look_beyond(ascend(ends.front().point, ends.front().evaluation));
    warn_of_rivals(maximum, ends);
    return maximum;
  }

  /// Names the first of the other ends of searches that is nearly as good and yet elsewhere.
  void warn_of_rivals(const Maximum& maximum, const std::vector<Evaluated>& ends) {
    if (maximum.status != Status::converged) return;
    for (const Evaluated& end : ends) {
      const double behind = maximum.value - end.evaluation.value;
      if (!(behind > final_gain && behind < rival_gain)) continue;
      // What is nowhere determined may be anywhere: scales and periods tell maxima apart.
      std::vector<std::string> apart;
      for (std::size_t p = 0; p < free_.size(); ++p) {
        const bool telling =
            free_[p].name.find("lengthscale") != std::string::npos || free_[p].name.ends_with(".period");
        const double place = end.point(static_cast<Index>(p));
        if (telling && std::abs(place - maximum.point(static_cast<Index>(p))) > rival_distance)
          apart.push_back(fmt::format("{} = {:.3g}", free_[p].name, value_on(free_[p].scale, place)));
      }
      if (apart.empty()) continue;
      report_.warnings.push_back(fmt::format(
          "another maximum of the evidence, only about {:.2g} lower, has {}: the data hardly tell them apart; "
          "restarts look for more, and hyperpriors decide",
          behind, fmt::join(apart, ", ")));
      return;
    }
  }

  /// From the model's own parameters: first along all length-scales together, then with those of a kernel tied to one
  /// another, then free. Kernels with several components begin where the best of several starts lead.
  Maximum explore_and_ascend(const Vector& point) {
    if (const auto starts = race_of_starts(point); !starts.empty() && !stopped_) return ascend_from_best(starts);
    const std::optional<PartialResult> part = is_part_ ? std::move(smaller_) : learn_from_parts(point);
    if (part && part->open()) {
      // Where to climb from is seen in a part; where that leads is not.
      if (const auto there = counted_(part->scanned)) return look_beyond(ascend(part->scanned, there));
    } else if (part) {
      scanned_ = part->scanned;
      const double growth = static_cast<double>(model_.rows()) / static_cast<double>(part->rows);
      const Curvature grown{part->curvature.coordinates, growth * part->curvature.hessian};
      const SearchOptions search{.max_evaluations = left_here_,
                                 .tolerance = options_.tolerance,
                                 .radius = std::clamp(2.0 * part->spread, 0.1, 1.0),
                                 .near_enough = near_enough,
                                 .curvature = &grown};
      Maximum maximum = maximise(
          counted_, [&] { return stopped_; }, part->point, lower_, upper_, search);
      report_.curvature_evaluations += maximum.curvature_evaluations;
      // The part has looked for other maxima; all rows look again where they leave parameters open.
      if (maximum.point.size() > 0) return well_known(maximum) ? maximum : look_beyond(std::move(maximum));
    }
    std::optional<Evaluated> start = scan_lengthscales(counted_, point, free_, static_cast<double>(model_.rows()));
    if (!start) return {-std::numeric_limits<double>::infinity(), Status::numerical_failure, "the start failed"};
    const TiedCoordinates tied(free_, start->point);
    if (tied.fewer() && left_here_ > 0 && !stopped_) {
      const SearchOptions search{.max_evaluations = left_here_, .tolerance = options_.tolerance, .enough = tied_gain};
      const PartialFunction f = [&](const Vector& z) -> std::optional<Evaluation> {
        auto evaluation = counted_(tied.point(z));
        if (!evaluation) return std::nullopt;
        if (evaluation->value > start->evaluation.value) start = Evaluated{tied.point(z), *evaluation};
        return tied.gather(std::move(*evaluation));
      };
      const Evaluation at_start = tied.gather(start->evaluation);
      (void)maximise(
          f, [&] { return stopped_; }, Vector::Zero(tied.lower().size()), tied.lower(), tied.upper(), search, at_start);
    }
    scanned_ = start->point;
    Maximum maximum = ascend(start->point, start->evaluation);
    return tied.fewer() ? look_along_features(look_untied(std::move(maximum), point)) : look_beyond(std::move(maximum));
  }

  /// One feature may matter on a shorter scale while others give way: one evaluation for each length-scale of a group,
  /// shorter than at the maximum, or where it began if it has been switched off. A search goes on from the best of
  /// those where the function still rises away from the maximum, or has hardly fallen.
  Maximum look_along_features(Maximum found) {
    if (found.status != Status::converged || stopped_) return found;
    std::vector<Index> scales;
    for (const auto& group : lengthscale_groups(free_))
      if (group.size() > 1) scales.insert(scales.end(), group.begin(), group.end());
    if (scales.size() > most_features) return found;
    const Vector home = found.point;
    std::vector<Evaluated> seen;
    objective_.set_floor(found.value - far_below);
    for (const Index i : scales) {
      const FreeParameter& scale = free_[static_cast<std::size_t>(i)];
      Vector there = home;
      there(i) = home(i) > scale.initial + untied_sight ? scale.initial : home(i) - feature_step;
      there(i) = std::max(there(i), scale.lower);
      auto evaluation = counted_(there);
      if (!evaluation || stopped_) continue;
      const bool away = evaluation->gradient(i) < 0.0;
      if (away || found.value - evaluation->value < feature_fall) seen.push_back({there, std::move(*evaluation)});
    }
    objective_.set_floor(-std::numeric_limits<double>::infinity());
    std::stable_sort(seen.begin(), seen.end(),
                     [](const Evaluated& a, const Evaluated& b) { return a.evaluation.value > b.evaluation.value; });
    if (seen.size() > feature_searches) seen.resize(feature_searches);
    for (const Evaluated& from : seen) {
      bool back = false;
      const PartialFunction f = [&](const Vector& at) -> std::optional<Evaluation> {
        back = back || same_place(at, found.point);
        if (back) return std::nullopt;
        return counted_(at);
      };
      const SearchOptions search{.max_evaluations = left_here_, .tolerance = options_.tolerance};
      Maximum other = maximise(
          f, [&] { return stopped_ || back; }, from.point, lower_, upper_, search, from.evaluation);
      report_.curvature_evaluations += other.curvature_evaluations;
      if (!back && other.value > found.value) found = std::move(other);
    }
    return found;
  }

  /// Length-scales that were never tied may lead to another maximum: a short search from the first point shows whether
  /// to go on.
  Maximum look_untied(Maximum found, const Vector& point) {
    if (found.status != Status::converged || stopped_) return found;
    objective_.forget_start();
    bool back = false;
    const PartialFunction f = [&](const Vector& at) -> std::optional<Evaluation> {
      back = back || same_place(at, found.point);
      if (back) return std::nullopt;
      return counted_(at);
    };
    const auto stop = [&] { return stopped_ || back; };
    SearchOptions search{.max_evaluations = std::min(left_here_, untied_evaluations),
                         .tolerance = options_.tolerance,
                         .most_differences = 0,
                         .few = 0};
    Maximum other = maximise(f, stop, point, lower_, upper_, search);
    if (stop() || !(other.value > found.value - untied_fall)) return found;
    search = {.max_evaluations = left_here_, .tolerance = options_.tolerance, .enough = final_gain};
    other = maximise(f, stop, other.point, lower_, upper_, search, Evaluation{other.value, other.gradient});
    report_.curvature_evaluations += other.curvature_evaluations;
    if (back || !(other.value > found.value + untied_gain)) return found;
    Maximum better = ascend(other.point, Evaluation{other.value, other.gradient});
    return better.value > found.value ? better : found;
  }

  /// Near in every parameter, but for length-scales that both have grown out of sight.
  [[nodiscard]] bool same_place(const Vector& a, const Vector& b) const {
    for (std::size_t p = 0; p < free_.size(); ++p) {
      const auto i = static_cast<Index>(p);
      const bool is_scale = free_[p].name.find("lengthscale[") != std::string::npos;
      const bool out_of_sight = is_scale && std::min(a(i), b(i)) > free_[p].initial + untied_sight;
      if (!out_of_sight && !(std::abs(a(i) - b(i)) < untied_distance)) return false;
    }
    return true;
  }

  /// Another maximum may lie at shorter or longer length-scales: one evaluation to either side shows whether the
  /// function falls as the curvature here says. Where it does not, a search from there ends early if it comes back.
  Maximum look_beyond(Maximum found) {
    if (found.status != Status::converged || free_.size() > most_beyond || stopped_) return found;
    if (!found.curvature) {
      const int before = objective_.evaluations();
      found.curvature =
          curvature_inside(counted_, found.point, objective_.best_evaluation(), lower_, upper_, 1.0, left_here_);
      report_.curvature_evaluations += objective_.evaluations() - before;
      if (!found.curvature) return found;
    }
    const Matrix hessian = found.curvature->hessian;
    const Vector home = found.point;
    for (const Vector& step : steps_beyond(*found.curvature, free_)) {
      const Vector there = (home + step).cwiseMax(lower_).cwiseMin(upper_);
      const double expected = -0.5 * (there - home).dot(hessian * (there - home));
      objective_.set_floor(found.value - far_below);
      const auto evaluation = counted_(there);
      objective_.set_floor(-std::numeric_limits<double>::infinity());
      if (!evaluation || stopped_) continue;
      const double fall = found.value - evaluation->value;
      const bool away = evaluation->gradient.dot(there - home) > 0.0;
      if (!(fall < far_below) || !(away || fall < surprise * expected)) continue;
      bool back = false;
      const PartialFunction f = [&](const Vector& at) {
        const Vector from_home = at - home;
        back = back || -from_home.dot(hessian * from_home) < 1.0;
        return counted_(at);
      };
      const SearchOptions search{.max_evaluations = left_here_, .tolerance = options_.tolerance};
      Maximum other = maximise(
          f, [&] { return stopped_ || back; }, there, lower_, upper_, search, evaluation);
      report_.curvature_evaluations += other.curvature_evaluations;
      if (!back && other.value > found.value) found = std::move(other);
    }
    return found;
  }

  Maximum ascend(const Vector& from, const std::optional<Evaluation>& known = {}) {
    const SearchOptions search{.max_evaluations = left_here_,
                               .tolerance = options_.tolerance,
                               .near_enough = model_.rows() < many_rows ? 0.0 : near_enough};
    Maximum maximum = maximise(
        counted_, [&] { return stopped_; }, from, lower_, upper_, search, known);
    report_.curvature_evaluations += maximum.curvature_evaluations;
    return maximum;
  }

  std::optional<Evaluation> evaluate(const Vector& at) {
    auto evaluation = objective_(at);
    if (objective_.evaluations() == 1) {
      // A model that cannot even be fitted where the user starts is told as infer() would tell it.
      if (!evaluation) (void)infer_valid(model_, method_, quiet_run());
      if (evaluation) {
        report_.initial_objective = evaluation->value;
        flat_start_ = is_flat(*evaluation);
      }
    }
    const double residual = evaluation ? projected_gradient(evaluation->gradient, at, free_).lpNorm<Eigen::Infinity>()
                                       : std::numeric_limits<double>::infinity();
    const Next next = progress_.tell({objective_.evaluations(), objective_.best_value(), residual, "learning"});
    if (next == Next::accept) stopped_ = true;
    return evaluation;
  }

  /// Whether nothing, or no length-scale of a kernel, has a slope: a periodic kernel whose period is the spacing of the
  /// inputs is one number for all pairs of rows.
  [[nodiscard]] bool is_flat(const Evaluation& evaluation) const {
    const double goal = gradient_goal(options_.tolerance, evaluation);
    if (evaluation.gradient.lpNorm<Eigen::Infinity>() <= goal) return true;
    for (const auto& group : lengthscale_groups(free_))
      if (std::all_of(group.begin(), group.end(),
                      [&](Index i) { return std::abs(evaluation.gradient(i)) <= 1e-3 * goal; }))
        return true;
    return false;
  }

  /// Whether a parameter other than one length-scale of many is at a bound: those only say that a feature does not
  /// matter.
  [[nodiscard]] bool ends_at_bound() const {
    for (std::size_t p = 0; p < free_.size(); ++p) {
      const double place = objective_.best_point()(static_cast<Index>(p));
      const bool one_of_many = free_[p].name.find("lengthscale[") != std::string::npos && free_[p].at_upper(place);
      if ((free_[p].at_lower(place) || free_[p].at_upper(place)) && !one_of_many) return true;
    }
    return false;
  }

  [[nodiscard]] Run quiet_run() const {
    Run run = run_;
    run.progress = {};
    return run;
  }

  /// Second derivatives at the best point, unless the search ended with them.
  void find_curvature() {
    if (!options_.standard_errors.value_or(free_.size() <= few_parameters)) {
      curvature_.reset();
      return;
    }
    if (curvature_) return;
    const int before = objective_.evaluations();
    const Vector point = objective_.best_point();
    const Evaluation there = objective_.best_evaluation();
    left_here_ = left_;
    curvature_ = curvature_inside(counted_, point, there, lower_, upper_, 1.0, left_);
    report_.curvature_evaluations += objective_.evaluations() - before;
  }

  /// Every evaluation failed: the fit at the start says why.
  Learned fail() {
    Posterior posterior = infer_valid(model_, method_, run_);
    report_.status = Status::numerical_failure;
    report_.message = fmt::format("no evaluation of the evidence succeeded: {}", fmt::join(report_.failures, "; "));
    report_.initial_objective = report_.objective = posterior.log_evidence().value;
    return {std::move(posterior), std::move(report_)};
  }

  Learned finish() {
    const Posterior& best = *objective_.best();
    const Evaluation& there = objective_.best_evaluation();
    report_.objective = there.value;
    // Among values that their errors cannot tell apart, the best point is not always the highest.
    for (double& value : report_.start_objectives) value = std::min(value, there.value);
    report_.log_hyperprior = there.value - best.log_evidence().value;
    report_.residual = projected_gradient(there.gradient, objective_.best_point(), free_).lpNorm<Eigen::Infinity>();
    if (report_.status == Status::iteration_limit)
      report_.message =
          fmt::format("all {} evaluations that learn.max_evaluations allows are used", report_.evaluations);
    if (stopped_) {
      report_.status = Status::stopped;
      report_.message = "stopped by the caller; the best parameters so far are kept";
    } else if (report_.residual <= gradient_goal(options_.tolerance, there)) {
      report_.status = Status::converged;
      report_.message = fmt::format("largest projected gradient {:.1e}", report_.residual);
    }
    if (objective_.milder()) {
      std::vector<std::string> options;
      const auto asked = options_of(method_);
      const auto used = options_of(best.method());
      for (std::size_t i = 0; i < used.size(); ++i)
        if (used[i] != asked[i]) options.push_back(used[i].first + "=" + used[i].second);
      report_.warnings.push_back(fmt::format("learned with a milder method than asked for: {} with {}",
                                             name_of(best.method()), fmt::join(options, ", ")));
    }
    describe_parameters(best.model());
    describe_curvature();
    for (std::string& line : advice(report_, free_, objective_.best_point()))
      report_.warnings.push_back(std::move(line));
    return {best, std::move(report_)};
  }

  void describe_parameters(const Model& learned_model) {
    const std::vector<Parameter> initial = model_.parameters();
    const std::vector<Parameter> now = learned_model.parameters();
    for (std::size_t p = 0; p < now.size(); ++p) {
      const auto it =
          std::find_if(free_.begin(), free_.end(), [&](const FreeParameter& f) { return f.name == now[p].name; });
      LearnedParameter learned{now[p].name, initial[p].value, now[p].value, 0.0, it == free_.end(), false};
      if (it != free_.end()) {
        const auto i = static_cast<Index>(it - free_.begin());
        const double place = objective_.best_point()(i);
        learned.gradient = objective_.best_evaluation().gradient(i);
        learned.at_bound = it->at_lower(place) || it->at_upper(place);
        learned.hyperprior = it->hyperprior;
      }
      report_.parameters.push_back(learned);
    }
  }

  void describe_curvature() {
    if (!curvature_ || curvature_->coordinates.empty()) return;
    report_.hessian = curvature_->hessian;
    for (const Index i : curvature_->coordinates)
      report_.hessian_parameters.push_back(free_[static_cast<std::size_t>(i)].name);
    const auto covariance = covariance_at_maximum(curvature_->hessian);
    if (!covariance) return;
    for (std::size_t k = 0; k < report_.hessian_parameters.size(); ++k) {
      const auto i = static_cast<Index>(k);
      const auto named = std::find_if(report_.parameters.begin(), report_.parameters.end(), [&](const auto& parameter) {
        return parameter.name == report_.hessian_parameters[k];
      });
      named->standard_error = std::sqrt((*covariance)(i, i));
    }
  }

  const Model& model_;
  const Method& method_;
  const LearnOptions& options_;
  const Run& run_;
  const std::vector<FreeParameter>& free_;
  Vector lower_, upper_;
  LearningObjective objective_;
  Progress progress_;
  LearnReport report_;
  std::optional<Curvature> curvature_;    ///< At the best point.
  bool is_part_ = false;                  ///< This is a search over a part of the rows,
  std::optional<PartialResult> smaller_;  ///< from where a smaller one led.
  Vector scanned_;                        ///< Where the scan of length-scales led.
  int left_here_ = 0;                     ///< Evaluations that this start has left.
  int left_ = 0;                          ///< Those that the best start did not use.
  bool stopped_ = false;
  bool flat_start_ = false;  ///< The first point shows no way.
  /// The objective within the budget of a start.
  const PartialFunction counted_ = [this](const Vector& at) -> std::optional<Evaluation> {
    if (left_here_ <= 0 || stopped_) return std::nullopt;
    --left_here_;
    return evaluate(at);
  };
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
  model.validate();
  const std::vector<FreeParameter> free = free_parameters(model, options);
  if (free.empty()) return only_infer(model, method, run);
  return Learning(model, method, options, run, free).run();
}

}  // namespace gaussmith
