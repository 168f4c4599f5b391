#include "families/ascent.hpp"

#include "base/progress.hpp"
#include "families/plane_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// Moments move by recurrences along steps; after this many steps they are computed anew.
constexpr int refresh_every = 25;
/// The share of a residual that the drift of the moments may have in it.
constexpr double harmless_drift = 0.1;
/// Variance at which the sites are asked for their first precision, at most: large prior variances would overflow
/// e^eta.
constexpr double starting_variance = 1.0;
bool reached(const AscentResult& result, const AscentOptions& options) {
  return result.report.residual <= options.tolerance || result.largest_gradient <= options.largest_gradient;
}

}  // namespace

void AscentResult::count_earlier(const AscentResult& earlier, bool with_history) {
  report.iterations += earlier.report.iterations;
  report.jittered += earlier.report.jittered;
  report.clipped += earlier.report.clipped;
  products += earlier.products;
  if (with_history)
    report.history.insert(report.history.begin(), earlier.report.history.begin(), earlier.report.history.end());
}

AscentResult begin_ascent(const FamilyObjective& objective, Vector mean, Vector root) {
  AscentResult result;
  result.point = objective.at(std::move(mean), std::move(root));
  if (!std::isfinite(result.point.value)) result.report.status = Status::numerical_failure;
  return result;
}

bool ascent_is_over(AscentResult& result, const AscentOptions& options, std::string_view kind) {
  Report& report = result.report;
  const Next next =
      Progress(options.progress, &report.history).tell({report.iterations, result.point.value, report.residual, kind});
  if (next == Next::accept) {
    report.status = Status::stopped;
    return true;
  }
  if (reached(result, options)) return true;
  if (report.iterations < options.max_iterations) return false;
  report.status = Status::iteration_limit;
  return true;
}

Vector starting_root(const FamilyObjective& objective) {
  const FamilySpace& space = objective.space();
  const RootPattern& p = space.pattern;
  FamilyPoint point;
  Vector prior_variance = Vector::Constant(objective.rows(), starting_variance);
  (void)objective.expectation(space.centre, prior_variance, point.d_mean, point.d_variance);
  const Vector precision = positive_precision(point).unaryExpr([](double t) { return std::isfinite(t) ? t : 0.0; });
  const Vector sites = objective.products().squares(precision);
  Vector entries = Vector::Zero(p.entries());
  for (Index j = 0; j < p.columns; ++j) {
    const double omega = space.multiplicity(p.rows - p.columns + j);
    const double a = omega * space.root_prior.diagonal(j) + sites(j);
    // A subspace that is the whole space has no use for c.
    entries(p.diagonal(j)) = a > 0.0 && omega > 0.0 ? std::sqrt(omega / a) : 1.0;
  }
  return entries;
}

AscentResult ascend(const FamilyObjective& objective, Vector mean, Vector root, const AscentOptions& options) {
  const StepModel model(objective);
  AscentResult result = begin_ascent(objective, std::move(mean), std::move(root));
  if (result.report.status == Status::numerical_failure) return result;
  FamilyDirection last;
  bool has_last = false;
  int moves = 0;  // Since the moments were last computed and not moved.
  // Returns how far they had drifted, in standard deviations and as a part of the variances.
  const auto refresh = [&] {
    const Vector eta = std::move(result.point.at.eta);
    const Vector variance = std::move(result.point.variance);
    result.point = objective.at(result.point.at.mean, result.point.at.root.entries);
    last.inner_point = last.inner_self = Vector();
    moves = 0;
    const Vector& now = result.point.variance;
    return std::max((eta - result.point.at.eta).cwiseQuotient(now.cwiseSqrt()).cwiseAbs().maxCoeff(),
                    (variance - now).cwiseQuotient(now).cwiseAbs().maxCoeff());
  };
  for (;; ++result.report.iterations) {
    FamilyGradient gradient;
    FamilyStep step;
    const auto look = [&] {
      step = model.step(result.point, gradient);
      ++result.products;
      result.report.jittered += step.jittered;
      result.report.clipped += static_cast<int>(step.floored.size());
      result.largest_gradient = gradient.largest();
      result.report.residual = std::sqrt(std::max(0.0, step.mean_decrement) + std::max(0.0, step.root_decrement));
    };
    look();
    // A certificate is given at moments that are what they are called: where they had drifted, it is made anew.
    if (moves > 0 && reached(result, options) &&
        !(refresh() * std::sqrt(static_cast<double>(objective.rows())) < harmless_drift * result.report.residual))
      look();
    if (ascent_is_over(result, options, "ascent")) break;
    FamilyDirection direction = objective.direction(std::move(step.mean), std::move(step.root), std::move(step.eta));
    std::vector<const FamilyDirection*> directions = {&direction};
    // The last step must not push an entry through its floor. Such entries are purely diagonal: no panel holds them.
    for (const Index e : step.floored) {
      if (!has_last || last.root.entries(e) == 0.0) continue;
      last.root.entries(e) = last.root_prior(e) = 0.0;
      last.inner_point = last.inner_self = Vector();
    }
    if (has_last) directions.push_back(&last);
    FamilyDirection taken;
    bool rose = plane_search(objective, directions, result.point, taken);
    if (!rose && has_last) {
      directions.pop_back();
      rose = plane_search(objective, directions, result.point, taken);
    }
    if (!rose && moves > 0) {
      // Drifted moments may hide the way up.
      (void)refresh();
      has_last = false;
      continue;
    }
    if (!rose) {
      result.report.status = Status::stalled;
      break;
    }
    last = std::move(taken);
    has_last = true;
    if (++moves == refresh_every) (void)refresh();
  }
  if (moves > 0) (void)refresh();
  return result;
}

}  // namespace gaussmith
