#include "support/truncated_newton.hpp"

#include "families/plane_search.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith::testing {

namespace {

/// Conjugate-gradient steps within one Newton step.
constexpr int newton_inner_steps = 60;

}  // namespace

SiteCurvature site_curvature(const FamilyObjective& objective, const FamilyPoint& point) {
  constexpr double relative_step = 1e-3;
  const Vector& v = point.variance;
  const Vector step = relative_step * v.cwiseSqrt();
  const Vector variance_step = relative_step * v;
  Vector unused;
  Vector up;
  Vector down;
  SiteCurvature out;
  (void)objective.expectation(point.at.eta + step, v, unused, up);
  (void)objective.expectation(point.at.eta - step, v, unused, down);
  out.mixed = (up - down).cwiseQuotient(2.0 * step.cwiseMax(1e-300));
  (void)objective.expectation(point.at.eta, v + variance_step, unused, up);
  (void)objective.expectation(point.at.eta, v - variance_step, unused, down);
  out.variance = (up - down).cwiseQuotient(2.0 * variance_step.cwiseMax(1e-300));
  return out;
}

FamilyGradient hessian_times(const FamilyObjective& objective, const FamilyPoint& point, const SiteCurvature& curvature,
                             const FamilyDirection& direction) {
  const FamilySpace& space = objective.space();
  // Pairs are (C, C), (C, d), (d, d): the middle one is half of dv.
  const Vector dv = 2.0 * objective.products().inner({&point.at.root, &direction.root}).col(1);
  const Vector weight = 2.0 * point.d_variance;
  const Vector in_mean = weight.cwiseProduct(direction.eta) + curvature.mixed.cwiseProduct(dv);
  const Vector in_variance = 2.0 * (curvature.mixed.cwiseProduct(direction.eta) + curvature.variance.cwiseProduct(dv));
  FamilyGradient out;
  out.mean = objective.mean_rows_transposed_times(in_mean) - direction.mean_prior;
  out.root =
      objective.products().gather({{&point.at.root, &in_variance}, {&direction.root, &weight}}) - direction.root_prior;
  const RootPattern& p = space.pattern;
  for (Index j = 0; j < p.columns; ++j) {
    const double c = point.at.root.entries(p.diagonal(j));
    out.root(p.diagonal(j)) -= space.multiplicity(j) * direction.root.entries(p.diagonal(j)) / (c * c);
  }
  return out;
}

AscentResult truncated_newton(const FamilyObjective& objective, Vector mean, Vector root,
                              const AscentOptions& options) {
  const StepModel model(objective);
  const FamilySpace& space = objective.space();
  const RootPattern& p = space.pattern;
  AscentResult result = begin_ascent(objective, std::move(mean), std::move(root));
  if (result.report.status == Status::numerical_failure) return result;
  double first_residual = 0.0;
  for (;; ++result.report.iterations) {
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
    result.report.residual = std::sqrt(rz);
    if (result.report.iterations == 0) first_residual = result.report.residual;
    if (ascent_is_over(result, options, "newton")) break;
    const SiteCurvature curvature = site_curvature(objective, result.point);
    // Superlinear convergence: solve the more accurately the nearer.
    const double forcing = std::min(0.3, std::sqrt(result.report.residual / std::max(first_residual, 1e-300)));
    const double goal = forcing * forcing * rz;
    FamilyGradient step{Vector::Zero(r.mean.size()), Vector::Zero(r.root.size())};
    FamilyGradient d = z;
    for (int k = 0; k < newton_inner_steps && rz > goal; ++k) {
      const FamilyGradient hd = hessian_times(objective, result.point, curvature, objective.direction(d.mean, d.root));
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
      result.report.status = Status::stalled;
      break;
    }
    result.point = objective.at(result.point.at.mean, result.point.at.root.entries);
  }
  return result;
}

}  // namespace gaussmith::testing
