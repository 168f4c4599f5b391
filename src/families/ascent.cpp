#include "families/ascent.hpp"

#include "families/plane_search.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Moments move by recurrences along steps; after this many steps they are computed anew.
constexpr int refresh_every = 25;
/// The share of a residual that the drift of the moments may have in it.
constexpr double harmless_drift = 0.1;
/// Variance at which the sites are asked for their first precision, at most: large prior variances would overflow
/// e^eta.
constexpr double starting_variance = 1.0;
/// Conjugate-gradient steps within one Newton step.
constexpr int newton_inner_steps = 60;

/// Records one iteration; true when the callback asks to stop.
bool stop_asked(AscentResult& result, const AscentOptions& options, std::string_view step) {
  result.history.push_back({result.iterations, result.point.value, result.residual, step});
  if (!options.progress) return false;
  const Next next = options.progress(result.history.back());
  if (next == Next::discard) throw Interrupted();
  return next == Next::accept;
}

bool reached(const AscentResult& result, const AscentOptions& options) {
  return result.residual <= options.tolerance || result.largest_gradient <= options.largest_gradient;
}

/// Whether the ascent ends here, with its status.
bool over(AscentResult& result, const AscentOptions& options, std::string_view kind) {
  if (stop_asked(result, options, kind)) {
    result.status = Status::stopped;
    return true;
  }
  if (reached(result, options)) return true;
  if (result.iterations < options.max_iterations) return false;
  result.status = Status::iteration_limit;
  return true;
}

}  // namespace

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
  AscentResult result;
  result.point = objective.at(std::move(mean), std::move(root));
  if (!std::isfinite(result.point.value)) {
    result.status = Status::numerical_failure;
    return result;
  }
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
  for (;; ++result.iterations) {
    FamilyGradient gradient;
    FamilyStep step;
    const auto look = [&] {
      step = model.step(result.point, gradient);
      ++result.products;
      result.largest_gradient = gradient.largest();
      result.residual = std::sqrt(std::max(0.0, step.mean_decrement) + std::max(0.0, step.root_decrement));
    };
    look();
    // A certificate is given at moments that are what they are called: where they had drifted, it is made anew.
    if (moves > 0 && reached(result, options) &&
        !(refresh() * std::sqrt(static_cast<double>(objective.rows())) < harmless_drift * result.residual))
      look();
    if (over(result, options, "ascent")) break;
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
      result.status = Status::stalled;
      break;
    }
    last = std::move(taken);
    has_last = true;
    if (++moves == refresh_every) (void)refresh();
  }
  if (moves > 0) (void)refresh();
  return result;
}

AscentResult truncated_newton(const FamilyObjective& objective, Vector mean, Vector root,
                              const AscentOptions& options) {
  const StepModel model(objective);
  const FamilySpace& space = objective.space();
  const RootPattern& p = space.pattern;
  AscentResult result;
  result.point = objective.at(std::move(mean), std::move(root));
  if (!std::isfinite(result.point.value)) {
    result.status = Status::numerical_failure;
    return result;
  }
  double first_residual = 0.0;
  for (;; ++result.iterations) {
    const FamilyGradient gradient = objective.gradient(result.point);
    ++result.products;
    // The inverse diagonal of the model, over both parts.
    const Vector precision = positive_precision(result.point);
    const Vector inverse_mean = model.mean_diagonal(precision).cwiseMax(1e-300).cwiseInverse();
    const Vector a = model.diagonal(precision);
    Vector inverse_root(p.entries());
    for (Index j = 0; j < p.columns; ++j)
      for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
        const double c = result.point.at.root.entries(e);
        inverse_root(e) = 1.0 / std::max(a(j) + (e == p.diagonal(j) ? 1.0 / (c * c) : 0.0), 1e-300);
      }
    FamilyGradient r = gradient;
    FamilyGradient z{inverse_mean.cwiseProduct(r.mean), inverse_root.cwiseProduct(r.root)};
    double rz = r.mean.dot(z.mean) + r.root.dot(z.root);
    result.largest_gradient = gradient.largest();
    result.residual = std::sqrt(rz);
    if (result.iterations == 0) first_residual = result.residual;
    if (over(result, options, "newton")) break;
    const SiteCurvature curvature = objective.curvature(result.point);
    // Superlinear convergence: solve the more accurately the nearer.
    const double forcing = std::min(0.3, std::sqrt(result.residual / std::max(first_residual, 1e-300)));
    const double goal = forcing * forcing * rz;
    FamilyGradient step{Vector::Zero(r.mean.size()), Vector::Zero(r.root.size())};
    FamilyGradient d = z;
    for (int k = 0; k < newton_inner_steps && rz > goal; ++k) {
      const FamilyGradient hd = objective.hessian_times(result.point, curvature, objective.direction(d.mean, d.root));
      ++result.products;
      const double bend = -(d.mean.dot(hd.mean) + d.root.dot(hd.root));
      if (!(bend > 0.0)) {
        if (k == 0) step = d;
        break;
      }
      const double alpha = rz / bend;
      step.mean += alpha * d.mean;
      step.root += alpha * d.root;
      r.mean += alpha * hd.mean;
      r.root += alpha * hd.root;
      z = {inverse_mean.cwiseProduct(r.mean), inverse_root.cwiseProduct(r.root)};
      const double next = r.mean.dot(z.mean) + r.root.dot(z.root);
      d = {z.mean + (next / rz) * d.mean, z.root + (next / rz) * d.root};
      rz = next;
    }
    const FamilyDirection direction = objective.direction(std::move(step.mean), std::move(step.root));
    FamilyDirection taken;
    if (!plane_search(objective, {&direction}, result.point, taken)) {
      result.status = Status::stalled;
      break;
    }
    result.point = objective.at(result.point.at.mean, result.point.at.root.entries);
  }
  return result;
}

}  // namespace gaussmith
