#pragma once
// The Gaussian over the weights that sites of the bought rows make of independent weights, while labels are added one
// by one: A = diag(prior precision) + H'diag(tau) H, mean A^-1 H'nu.

#include "active/inclusion.hpp"
#include "gaussmith/predict.hpp"
#include "linalg/variance_estimators.hpp"

#include <cstdint>
#include <optional>

namespace gaussmith {

/// How variances are found: by A^-1, D x D, or without it. Systems are solved by A^-1 where that costs little.
struct GaussianAccess {
  int lanczos = 0;  ///< Steps; 0: by A^-1.
  std::uint64_t seed = 0;
  int threads = 1;
  /// Up to this many weights systems are solved by A^-1 beside Lanczos' variances, too: conjugate gradients for every
  /// label take longer.
  Index few_weights = 1000;
};

class WeightGaussian {
 public:
  /// Positive precisions of the weights; precisions and shifts of the rows.
  WeightGaussian(const Design& rows, const Vector& precision, const Vector& shift, const Vector& weight_precision,
                 const GaussianAccess& access);

  [[nodiscard]] const Vector& mean() const { return mean_; }
  /// A^-1 b.
  [[nodiscard]] Vector solve(const Vector& b) const;
  /// Means and variances of rows. Lanczos' variances are too small, never too large.
  [[nodiscard]] Marginals marginals(const Design& rows) const;
  /// One more row h with its site, given d = A^-1 h: A^-1 -= tau/k d d', mean += (nu - tau h'mean)/k d, k = 1 + tau
  /// h'd.
  void include(const Vector& row, const IncludedSite& site, const Vector& solution);

 private:
  [[nodiscard]] Matrix precision_times(const Matrix& x) const;
  [[nodiscard]] Vector solve_by_products(const Vector& b) const;
  [[nodiscard]] PrecisionSystem system(const Design& rows) const;
  /// W of Lanczos, W W' <= A^-1, found once for all that asks before the next label.
  [[nodiscard]] const Matrix& lanczos_root() const;
  [[nodiscard]] Vector variances(const Design& rows) const;

  Design rows_;
  Vector precision_, weight_precision_;
  GaussianAccess access_;
  Matrix covariance_;  // A^-1, both triangles; empty where there are too many weights for it beside Lanczos.
  Vector diagonal_;    // Of A, for Lanczos.
  Matrix later_rows_;  // Included ones, D x their number, scaled by sqrt(tau); for Lanczos.
  mutable std::optional<Matrix> root_;
  Vector mean_;
};

}  // namespace gaussmith
