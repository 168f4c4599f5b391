#pragma once
// Modes and curvatures in the coordinates of a fitted Gaussian: L(y) = -1/2 |y|^2 + sum_n [log t_n - log s_n] at
// eta = centre + F y, maximised by Newton's method from wherever the last search ended.

#include "linalg/dense.hpp"
#include "model/site_rows.hpp"
#include "sampling/centred_sites.hpp"

namespace gaussmith {

/// One more site, at x = centre + direction'y.
struct ExtraSite {
  const SiteBlock* block;
  double centre;
  Vector direction;
};

/// What a search found: log of the integral of exp L by Laplace's method but for (2 pi)^(R/2).
struct RootedMode {
  double log_integral = 0.0;
  bool settled = false;
};

/// What else a search may look at. `prior` has the precisions of the y, one by default, and `share` the part with which
/// the site of every row counts.
struct RootedTerms {
  const ExtraSite* extra = nullptr;
  const Vector* prior = nullptr;
  const Vector* share = nullptr;
};

class RootedSearch {
 public:
  RootedSearch(const SiteRows& sites, const CentredSites& approximation, const Matrix& rows)
      : sites_(sites), approximation_(approximation), rows_(rows), y_(Vector::Zero(rows.cols())) {}

  /// The mode with eta = centre + F y, from the last one found or from start().
  [[nodiscard]] RootedMode climb(const Vector& centre, const RootedTerms& terms = {});
  void start(Vector y) { y_ = std::move(y); }
  [[nodiscard]] const Vector& at() const { return y_; }

 private:
  struct Value {
    double objective;
    Vector first, second;  // Of sum [log t - log s] in eta.
    double extra_first = 0.0, extra_second = 0.0;
  };
  [[nodiscard]] Value evaluate(const Vector& y, const Vector& centre, const RootedTerms& terms) const;
  /// -d2L/dy2 as a Cholesky factor; false where that is not positive definite. Not at a mode log t may stand under
  /// weights that touch it from below (positive_weights.hpp).
  [[nodiscard]] bool factorise(const Value& value, const Vector& centre, const RootedTerms& terms, bool touching,
                               Matrix& a) const;

  const SiteRows& sites_;
  const CentredSites& approximation_;
  const Matrix& rows_;
  Vector y_;
};

}  // namespace gaussmith
