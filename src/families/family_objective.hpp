#pragma once
// The bound of Gaussian-KL inference as a function of the mean and the covariance root:
//   B(m, C) = sum_n E[log t_n(eta_n)] + 1/2 log|V| - 1/2 tr(P V) - 1/2 (m - mu)'P (m - mu) + constant,
//   V = C'C, eta_n ~ N(h_n'm + offset_n, |C h_n|^2), P = Sigma^-1 (0 without a Gaussian factor).
// The mean variable is x = m - mu. The rows that act on the mean and those that act on the root may differ (subspaces).

#include "families/root_products.hpp"
#include "model/site_rows.hpp"

namespace gaussmith {

/// P of one space: diagonal, or dense where `dense` is not empty.
struct PriorPrecision {
  Vector diagonal;
  Matrix dense;
  /// P x.
  [[nodiscard]] Vector times(const Vector& x) const;
};

/// What defines a bound; everything is in the coordinates that the family lives in.
struct FamilySpace {
  Design mean_design;  ///< Rows that act on the mean.
  Design root_design;  ///< Rows that act on the root: the same but for subspaces.
  bool shared = true;  ///< They are the same.
  Vector centre;       ///< eta at x = 0.
  PriorPrecision mean_prior, root_prior;
  RootPattern pattern;
  Vector multiplicity;    ///< One a row of the root: how many directions it stands for (subspaces: D - K for c).
  double constant = 0.0;  ///< 1/2 D - 1/2 log|Sigma|, or 1/2 D (1 + log 2 pi) without a Gaussian factor.

  [[nodiscard]] Index dimension() const { return mean_prior.diagonal.size(); }
};

/// x, C and all that is linear in them; moves along lines and planes without new products.
struct FamilyDirection {
  Vector mean;
  ProjectedRoot root;
  Vector eta;         ///< H x.
  Vector mean_prior;  ///< P x.
  Vector root_prior;  ///< omega C P on the pattern.
  /// Of a step just taken: its products with the point it led to and with itself, (C h)'(D h) and |D h|^2; else empty.
  Vector inner_point = {}, inner_self = {};
};

struct FamilyPoint {
  FamilyDirection at;
  Vector variance;            ///< |C h_n|^2.
  double value = 0.0;         ///< The bound.
  Vector d_mean, d_variance;  ///< Of E[log t_n].
};

struct FamilyGradient {
  Vector mean, root;
  Vector squares = {};  ///< 2 sum_n dE/dv_n h_nj^2 where it was needed, so that steps need not compute it again.
  [[nodiscard]] double largest() const;
};

class FamilyObjective {
 public:
  /// The sites are those of the model, which must outlive this; all else of it is in the space.
  FamilyObjective(const FamilySpace& space, const Model& model, int threads);

  [[nodiscard]] const FamilySpace& space() const { return *space_; }
  [[nodiscard]] const RootProducts& products() const { return products_; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] Index rows() const { return sites_.rows(); }

  [[nodiscard]] Vector mean_rows_times(const Vector& x) const { return space_->mean_design.times(x, threads_); }
  [[nodiscard]] Vector mean_rows_transposed_times(const Vector& x) const {
    return space_->mean_design.transposed_times(x, threads_);
  }
  /// H'diag(precision) H x, and H x.
  [[nodiscard]] Vector mean_gram_times(const Vector& precision, const Vector& x, Vector& hx) const {
    return space_->mean_design.gram_times(precision, x, hx, threads_);
  }

  /// `eta`, if not empty, is H mean, known already.
  [[nodiscard]] FamilyDirection direction(Vector mean, Vector root, Vector eta = {}) const;
  [[nodiscard]] FamilyPoint at(Vector mean, Vector root) const;

  /// sum_n E[log t_n] and its derivatives at these moments; -inf where it is not a number.
  [[nodiscard]] double expectation(const Vector& eta, const Vector& variance, Vector& d_mean, Vector& d_variance) const;

  /// sum_r omega_r log C_rr or 1/2 log|Theta Theta' + diag(d)^2|, -inf outside its domain; the gradient on the pattern.
  [[nodiscard]] double entropy(const Vector& entries, Vector* gradient) const;

  /// omega C P on the pattern.
  [[nodiscard]] Vector root_prior(const Vector& entries) const;

  /// `sites_root`, if given, is the sites' part of the gradient in the root, computed elsewhere.
  [[nodiscard]] FamilyGradient gradient(const FamilyPoint& point, const Vector* sites_root = nullptr) const;

 private:
  const FamilySpace* space_;
  SiteRows sites_;
  RootProducts products_;
  int threads_;
};

}  // namespace gaussmith
