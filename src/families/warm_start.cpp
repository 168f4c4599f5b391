#include "families/warm_start.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

/// The entries of a root on a pattern; empty where one stands outside of it or the root is not a proper one.
std::optional<Vector> entries_on(const RootPattern& p, const CovarianceRoot& covariance) {
  const SparseMatrix& root = covariance.root;
  if (covariance.complement.size() > 0 || root.rows() != p.rows || root.cols() != p.columns) return {};
  Vector entries = Vector::Zero(p.entries());
  for (Index r = 0; r < root.rows(); ++r)
    for (SparseMatrix::InnerIterator it(root, r); it; ++it) {
      const auto column = static_cast<std::size_t>(it.col());
      const auto begin = p.row.begin() + p.start[column];
      const auto end = p.row.begin() + p.start[column + 1];
      const auto found = std::lower_bound(begin, end, static_cast<int>(r));
      if (found == end || *found != static_cast<int>(r)) return {};
      entries(found - p.row.begin()) = it.value();
    }
  for (Index j = 0; j < p.columns; ++j)
    if (!(entries(p.diagonal(j)) > 0.0)) return {};
  return entries;
}

/// The mean of an earlier fit in the coordinates of this space, if it has as many.
std::optional<Vector> warm_mean(const ModelSpace& model_space, const FamilyStart& warm) {
  if (!warm.root) return {};
  const EarlierRoot& fit = *warm.root;
  // The weights are the same whatever the prior; whitened by a dense factor they are kept as they are.
  if (!model_space.whitened || model_space.scales.size() > 0) {
    if (fit.weight_mean.size() != model_space.mean.size()) return {};
    const Vector x = fit.weight_mean - model_space.mean;
    return model_space.whitened ? Vector(x.cwiseQuotient(model_space.scales)) : x;
  }
  if (!fit.covariance.whitened || fit.coordinates.size() != model_space.space.dimension()) return {};
  return fit.coordinates;
}

/// One step of the model in which the sites are the Gaussians exp(shift eta - precision eta^2 / 2).
StartingPoint after_step_with(const SiteApproximation& sites, const FamilyObjective& objective, StartingPoint from) {
  FamilyPoint point;
  point.at = objective.direction(std::move(from.mean), std::move(from.root));
  point.at.eta += objective.space().centre;
  point.d_variance = -0.5 * sites.precision;
  point.d_mean = sites.shift - sites.precision.cwiseProduct(point.at.eta);
  FamilyGradient gradient;
  const FamilyStep step = StepModel(objective).step(point, gradient);
  return {point.at.mean + step.mean, point.at.root.entries + step.root};
}

}  // namespace

std::optional<StartingPoint> warm_starting_point(const FamilyObjective& objective, const ModelSpace& model_space,
                                                 const FamilyStart& warm, const StartingPoint& cold) {
  const auto bound = [&](const StartingPoint& at) { return objective.at(at.mean, at.root).value; };
  const std::optional<Vector> mean = warm_mean(model_space, warm);
  std::optional<StartingPoint> start;
  if (mean && warm.root->covariance.whitened == model_space.whitened)
    if (std::optional<Vector> root = entries_on(objective.space().pattern, warm.root->covariance))
      start = StartingPoint{*mean, std::move(*root)};
  if (!start && warm.sites != nullptr && warm.sites->precision.size() == objective.rows())
    start = after_step_with(*warm.sites, objective, {mean ? *mean : cold.mean, cold.root});
  if (!start) return {};
  const double value = bound(*start);
  if (!std::isfinite(value) || value <= bound(cold)) return {};
  return start;
}

}  // namespace gaussmith
