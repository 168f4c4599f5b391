#include "families/family_space.hpp"

#include "gaussian/prior_geometry.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/dense.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

/// A pivot this small beside its diagonal entry is rounding: the inverse would hold no correct digit.
constexpr double singular_pivot = 1e-13;

Design scaled_design(const Design& design, const Vector& scales) {
  if (const auto* dense = std::get_if<Matrix>(&design)) return Matrix(*dense * scales.asDiagonal());
  if (const auto* sparse = std::get_if<SparseMatrix>(&design)) return SparseMatrix(*sparse * scales.asDiagonal());
  SparseMatrix out(scales.size(), scales.size());
  out.setIdentity();
  return SparseMatrix(out * scales.asDiagonal());
}

}  // namespace

Vector ModelSpace::weights(const Vector& x) const {
  if (!whitened) return mean + x;
  return scales.size() > 0 ? Vector(mean + scales.cwiseProduct(x)) : Vector(mean + times(root, x));
}

ModelSpace make_space(const Model& model, const CovarianceFamily& family, Basis basis, int threads) {
  ModelSpace out;
  FamilySpace& space = out.space;
  const Index d = model.dimension();
  PriorGeometry geometry(model.prior, model.design, threads);
  out.mean = geometry.mean();
  space.centre = geometry.row_mean();
  if (model.offset.size() > 0) space.centre += model.offset;
  const bool is_process = std::holds_alternative<GaussianProcess>(model.prior);
  const auto* dense = std::get_if<DenseGaussian>(&model.prior);
  const bool subspace = family.kind == FamilyKind::subspace;

  if (!geometry.has_gaussian()) {
    space.mean_design = &model.design;
    space.mean_prior.diagonal = Vector::Zero(d);
    space.constant = 0.5 * static_cast<double>(d) * (1.0 + std::log(2.0 * std::numbers::pi));
  } else if (!is_process && !dense) {
    Vector variance;
    if (const auto* p = std::get_if<Isotropic>(&model.prior)) variance = Vector::Constant(d, p->variance);
    if (const auto* p = std::get_if<Diagonal>(&model.prior)) variance = p->variance;
    space.constant = 0.5 * static_cast<double>(d);
    if (subspace) {
      out.whitened = true;
      out.scales = variance.cwiseSqrt();
      out.owned = std::make_unique<const Design>(scaled_design(model.design, out.scales));
      space.mean_prior.diagonal = Vector::Ones(d);
    } else {
      space.mean_design = &model.design;
      space.mean_prior.diagonal = variance.cwiseInverse();
      space.constant -= 0.5 * variance.array().log().sum();
    }
  } else if (subspace || family.kind == FamilyKind::full || basis == Basis::whitened) {
    out.whitened = true;
    geometry.whiten();
    out.root = geometry.unwhiten(Matrix::Identity(geometry.rank(), geometry.rank()));
    out.owned = std::make_unique<const Design>(Matrix(geometry.whitened_rows(0, geometry.rows()).transpose()));
    space.mean_prior.diagonal = Vector::Ones(geometry.rank());
    space.constant = 0.5 * static_cast<double>(geometry.rank());
  } else {
    Matrix covariance;
    if (dense)
      covariance = 0.5 * (dense->covariance + dense->covariance.transpose());
    else
      std::get<GaussianProcess>(model.prior)
          .kernel->gram(std::get<GaussianProcess>(model.prior).inputs, covariance, threads);
    Matrix lower = covariance;
    if (!cholesky(lower) || (lower.diagonal().array().square() < singular_pivot * covariance.diagonal().array()).any())
      throw InvalidOption(fmt::format(
          "kl.covariance {}: the prior covariance is singular to working precision, so that a constraint on "
          "the weights makes the bound -infinity; use full, subspace:K or kl.basis=whitened",
          to_string(family)));
    space.constant = 0.5 * static_cast<double>(d) - half_log_determinant(lower);
    invert_lower(lower);
    lower_transposed_times_lower(lower);
    mirror_lower(lower);
    space.mean_design = &model.design;
    space.mean_prior.diagonal = lower.diagonal();
    space.mean_prior.dense = std::move(lower);
  }
  if (out.owned) space.mean_design = out.owned.get();
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
