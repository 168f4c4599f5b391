#include "families/fit_family.hpp"

#include "families/factor_model.hpp"
#include "families/family_rounding.hpp"
#include "families/family_space.hpp"
#include "families/subspace.hpp"
#include "families/warm_start.hpp"
#include "gaussmith/errors.hpp"
#include "gaussmith/random.hpp"
#include "linalg/dense.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr int default_starts = 6;
/// Standard deviation of random loadings beside those of the diagonal start.
constexpr double spread = 0.7;
/// Residual at which one of several starts is compared with the others: the bound can then rise by about 1e-3.
constexpr double rough_tolerance = 0.03;

/// Factor analysis: jumps to the best loadings of the model, each from the first of its optima; one must gain this.
constexpr int most_jumps = 8;
constexpr std::size_t most_roots = 4;
constexpr double least_jump = 1e-8;
/// Residual at which a climb after a jump is compared: the bound can then rise by about 1e-6.
constexpr double fine_tolerance = 1e-3;

std::string describe(Status status, double largest_gradient, bool maybe_local) {
  const char* where = maybe_local ? "a maximum of the bound, which may be local" : "the maximum of a concave bound";
  switch (status) {
    case Status::converged:
      return fmt::format("{}, largest gradient {:.2g}", where, largest_gradient);
    case Status::iteration_limit:
      return "no optimum within the iterations allowed; raise kl.max_iterations";
    case Status::stalled:
      return "no step raises the bound any further";
    case Status::numerical_failure:
      return "the bound is not finite at the start: some E[log t] is not a number or too large";
    case Status::inaccurate:
    case Status::stopped:
      break;
  }
  return "stopped by the progress callback";
}

/// Beyond this dimension only columns without entries and too few rows are looked for.
constexpr Index largest_gram = 2000;
/// A pivot of the scaled Gram matrix this small is rounding.
constexpr double smallest_pivot = 1e-13;

/// Without a Gaussian factor the evidence is infinite where the rows leave a direction of the weights open.
void check_determined(const PriorGeometry& geometry) {
  if (geometry.has_gaussian() || geometry.design().is_identity()) return;
  const Index d = geometry.dimension();
  const auto refuse = [] { throw InvalidModel(fmt::format("kl: {}", undetermined_weights)); };
  if (geometry.rows() < d) refuse();
  const Vector ones = Vector::Ones(geometry.rows());
  const Vector lengths = geometry.design().column_squares(ones, geometry.threads()).cwiseSqrt();
  if (!(lengths.array() > 0.0).all()) refuse();
  if (d > largest_gram) return;
  Matrix gram = geometry.design().gram(ones, geometry.threads());
  for (Index j = 0; j < d; ++j) gram.col(j).array() /= lengths(j) * lengths.array();
  if (!cholesky(gram) || (gram.diagonal().array().square() < smallest_pivot).any()) refuse();
}

/// A climb of the bound stays near the loadings that it began with. With the site precisions held fixed the best ones
/// are known, so climbs from there are tried until none ends higher.
void jump_between_factors(const FamilyObjective& objective, const FamilyOptions& options, const AscentOptions& ascent,
                          AscentResult& end) {
  AscentOptions fine = ascent;
  fine.tolerance = std::max(ascent.tolerance, fine_tolerance);
  const auto higher_from = [&](const Vector& root) {
    AscentResult other = options.ascent(objective, end.point.at.mean, root, fine);
    const bool higher = other.point.value > end.point.value + least_jump;
    if (higher && other.report.status == Status::converged) {
      AscentResult finished = options.ascent(objective, other.point.at.mean, other.point.at.root.entries, ascent);
      finished.count_earlier(other, true);
      std::swap(other, finished);
    }
    if (higher) std::swap(end, other);
    end.count_earlier(other, false);
    return higher;
  };
  for (int jump = 0; jump < most_jumps && end.report.status != Status::stopped; ++jump) {
    std::vector<Vector> roots = factor_roots(objective, end.point);
    roots.resize(std::min(roots.size(), most_roots));
    if (std::none_of(roots.begin(), roots.end(), higher_from)) return;
  }
}

/// The best of several starts: the first warm, or else at the prior mean with a diagonal root, the others moved at
/// random. `warm` says which.
AscentResult fit_from_starts(const FamilyObjective& objective, const ModelSpace& model_space,
                             const FamilyOptions& options, const AscentOptions& ascent, int starts, bool& warm) {
  const FamilySpace& space = objective.space();
  const RootPattern& p = space.pattern;
  const Vector diagonal = starting_root(objective);
  Random random(options.seed);
  Vector signs = Vector::Zero(space.dimension());
  const auto climb = [&](Vector mean, Vector root, const AscentOptions& how) {
    return options.ascent(objective, std::move(mean), std::move(root), how);
  };
  // Several starts go only far enough to be told apart; the best goes on.
  AscentOptions rough = ascent;
  rough.tolerance = std::max(ascent.tolerance, rough_tolerance);
  AscentResult best;
  for (int s = 0; s < starts; ++s) {
    Vector mean = Vector::Zero(space.dimension());
    Vector root = diagonal;
    // As wide as the prior, to see all modes at once, and moved ever further out, a random direction and its opposite,
    // to find those where the prior conflicts with the data.
    if (s > 0 && s % 2 == 0)
      for (Index j = 0; j < mean.size(); ++j) signs(j) = random.uniform() < 0.5 ? -1.0 : 1.0;
    for (Index j = 0; s > 0 && j < mean.size(); ++j) {
      const double precision = space.mean_prior.diagonal(j);
      const double prior = precision > 0.0 ? 1.0 / std::sqrt(precision) : diagonal(p.diagonal(j));
      root(p.diagonal(j)) = prior;
      mean(j) = (s % 2 == 0 ? s / 2 : -(s / 2)) * signs(j) * prior;
    }
    if (!p.triangular) {
      // Loadings of zero are a stationary point, so that even the first start needs some.
      const auto k = static_cast<double>(p.rows - p.columns);
      for (Index j = 0; j < p.columns; ++j)
        for (Index e = p.start[static_cast<std::size_t>(j)]; e < p.diagonal(j); ++e)
          root(e) = spread * random.normal() * diagonal(p.diagonal(j)) / std::sqrt(k);
    }
    StartingPoint start{std::move(mean), std::move(root)};
    if (s == 0)
      if (auto earlier = warm_starting_point(objective, model_space, options.warm, start)) {
        start = std::move(*earlier);
        warm = true;
      }
    AscentResult next = climb(std::move(start.mean), std::move(start.root), starts > 1 ? rough : ascent);
    const bool stop = next.report.status == Status::stopped;
    const bool first = s == 0;
    const bool usable = std::isfinite(next.point.value) && next.report.status != Status::numerical_failure;
    if (first || (usable && (best.report.status == Status::numerical_failure || next.point.value > best.point.value)))
      std::swap(best, next);
    if (!first) best.count_earlier(next, false);
    if (stop) return best;
  }
  if (best.report.status == Status::numerical_failure) return best;
  if (starts > 1) {
    AscentResult end = climb(best.point.at.mean, best.point.at.root.entries, ascent);
    end.count_earlier(best, false);
    best = std::move(end);
  }
  if (!p.triangular && p.columns <= direct_dimension) jump_between_factors(objective, options, ascent, best);
  return best;
}

}  // namespace

FamilyFit fit_family(const Model& model, const CovarianceFamily& family, const FamilyOptions& options, int threads,
                     const std::function<Next(const Iteration&)>& progress) {
  PriorGeometry geometry(model.prior, model.design, threads);
  return fit_family(model, geometry, family, options, progress);
}

FamilyFit fit_family(const Model& model, PriorGeometry& geometry, const CovarianceFamily& family,
                     const FamilyOptions& options, const std::function<Next(const Iteration&)>& progress) {
  check_family(family, model.dimension());
  check_rows(family, model.design);
  check_determined(geometry);
  const int threads = geometry.threads();
  const ModelSpace model_space = make_space(model, geometry, family, options.basis);
  const SiteRows sites(model, threads);
  FamilyFit fit;
  fit.concave = sites.all(&SiteTraits::log_concave) && family.kind != FamilyKind::factor;
  const AscentOptions ascent{options.tolerance, options.largest_gradient, options.max_iterations, progress};
  AscentResult result;
  fit.covariance.whitened = model_space.whitened;
  if (family.kind == FamilyKind::subspace) {
    const Index size = std::min(family.size, model_space.space.dimension());
    Matrix basis;
    result = fit_subspace(model_space, model, size, options, ascent, threads, basis, fit.warm);
    const RootPattern pattern = make_pattern({FamilyKind::subspace, size}, model_space.space.dimension());
    const Vector& entries = result.point.at.root.entries;
    const Matrix root = Matrix(pattern.matrix(entries)).topLeftCorner(size, size);
    fit.covariance.root = times(root, basis).sparseView();
    fit.covariance.root.makeCompressed();
    fit.covariance.scale = entries(pattern.diagonal(size));
    fit.covariance.complement = std::move(basis);
  } else {
    const FamilyObjective objective(model_space.space, model, threads);
    const int starts = fit.concave ? 1 : options.starts > 0 ? options.starts : default_starts;
    result = fit_from_starts(objective, model_space, options, ascent, starts, fit.warm);
    fit.covariance.root = model_space.space.pattern.matrix(result.point.at.root.entries);
  }
  fit.weight_mean = model_space.weights(result.point.at.mean);
  fit.coordinates = model_space.whitened ? result.point.at.mean : fit.weight_mean;
  fit.latent = {result.point.at.eta, result.point.variance};
  fit.d_mean = result.point.d_mean;
  fit.d_variance = result.point.d_variance;
  fit.bound = result.point.value;
  fit.rounding = family_rounding(model_space, geometry, fit);
  fit.products = result.products;
  fit.largest_gradient = result.largest_gradient;
  fit.report = std::move(result.report);
  fit.report.local_optimum = fit.report.converged() && !(fit.concave && family.kind != FamilyKind::subspace);
  fit.report.message = describe(fit.report.status, fit.largest_gradient, fit.report.local_optimum);
  return fit;
}

}  // namespace gaussmith
