#include "families/family_space.hpp"

#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"
#include "model/prior.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

/// A pivot this small beside its diagonal entry is rounding: the inverse would hold no correct digit.
constexpr double singular_pivot = 1e-13;

}  // namespace

Vector ModelSpace::weights(const Vector& x) const {
  if (!whitened) return mean + x;
  return scales.size() > 0 ? Vector(mean + scales.cwiseProduct(x)) : Vector(mean + times(root, x));
}

namespace {

/// Weights that are independent under the prior; whitened for subspaces, whose complement is a multiple of the
/// identity.
void use_independent_weights(const Vector& variance, bool whitened, ModelSpace& out) {
  FamilySpace& space = out.space;
  space.constant = 0.5 * static_cast<double>(variance.size());
  if (whitened) {
    out.whitened = true;
    out.scales = variance.cwiseSqrt();
    space.mean_design = space.mean_design.scaled(out.scales);
    space.mean_prior.diagonal = Vector::Ones(variance.size());
  } else {
    space.mean_prior.diagonal = variance.cwiseInverse();
    space.constant -= 0.5 * variance.array().log().sum();
  }
}

/// A dense prior over its whitened weights: P = I.
void use_whitened_weights(PriorGeometry& geometry, ModelSpace& out) {
  FamilySpace& space = out.space;
  out.whitened = true;
  geometry.whiten_rows();
  out.root = geometry.factor().factor;
  space.mean_design = geometry.whitened_design();
  space.mean_prior.diagonal = Vector::Ones(geometry.rank());
  space.constant = 0.5 * static_cast<double>(geometry.rank());
}

/// A dense prior over its weights: P = Sigma^-1.
void use_dense_precision(const Matrix& covariance, const CovarianceFamily& family, FamilySpace& space) {
  Matrix lower = covariance;
  if (!cholesky(lower) || (lower.diagonal().array().square() < singular_pivot * covariance.diagonal().array()).any())
    throw InvalidOption(
        fmt::format("kl.covariance {}: the prior covariance is singular to working precision, so that a constraint on "
                    "the weights makes the bound -infinity; use full, subspace:K or kl.basis=whitened",
                    to_string(family)));
  space.constant = 0.5 * static_cast<double>(covariance.rows()) - half_log_determinant(lower);
  invert_lower(lower);
  lower_transposed_times_lower(lower);
  mirror_lower(lower);
  space.mean_prior.diagonal = lower.diagonal();
  space.mean_prior.dense = std::move(lower);
}

}  // namespace

ModelSpace make_space(const Model& model, PriorGeometry& geometry, const CovarianceFamily& family, Basis basis) {
  ModelSpace out;
  FamilySpace& space = out.space;
  const Index d = geometry.dimension();
  const bool subspace = family.kind == FamilyKind::subspace;
  out.mean = geometry.mean();
  space.centre = geometry.row_mean();
  if (model.offset.size() > 0) space.centre += model.offset;
  space.mean_design = geometry.design();
  if (!geometry.has_gaussian()) {
    space.mean_prior.diagonal = Vector::Zero(d);
    space.constant = 0.5 * static_cast<double>(d) * (1.0 + std::log(2.0 * std::numbers::pi));
  } else if (const auto variance = independent_variances(model.prior)) {
    use_independent_weights(*variance, subspace, out);
  } else if (block_root(model.prior)) {
    throw InvalidOption(fmt::format(
        "kl.covariance {}: the prior correlates the effects of a group; use full, or independent effects (x||group)",
        to_string(family)));
  } else if (subspace || family.kind == FamilyKind::full || basis == Basis::whitened) {
    use_whitened_weights(geometry, out);
  } else {
    use_dense_precision(geometry.covariance(), family, space);
  }
  space.root_design = space.mean_design;
  space.root_prior = space.mean_prior;
  if (!subspace) {
    // A family of a singular prior lives in fewer dimensions.
    if (family.kind == FamilyKind::sparse && space.dimension() < d)
      throw InvalidOption(fmt::format(
          "kl.covariance {}: the prior covariance has rank {} of {}, so that there are fewer whitened "
          "weights than the pattern is for; use full, diagonal, banded:B, chevron:K, subspace:K or factor:K",
          to_string(family), space.dimension(), d));
    CovarianceFamily here = family;
    here.size = std::min(here.size, space.dimension());
    space.pattern = make_pattern(here, space.dimension());
    space.multiplicity = Vector::Ones(space.pattern.rows);
  }
  return out;
}

}  // namespace gaussmith
