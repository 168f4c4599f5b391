#pragma once
// Precision form of the core, for D < N: A = I + G'T G over whitened weights u, G = H R, Sigma = R R'; without a
// Gaussian factor A = H'T H. Coordinates are u. Whitening makes singular Sigma harmless. Negative precisions need no
// special care: A is positive definite exactly when K^-1 + T is. Cost: N D^2 + D^3 / 3 a factorisation, N D^2 for all
// variances; memory D x D, and N x D for dense priors and operators; never N x N.
//
// Where the pivots of A say that its sums have lost what the prior adds (collinear columns under a wide prior), the
// factor comes from orthogonal reflections of [T^1/2 G; I] instead, which lose half as many digits: 2 N D^2 flops.

#include "gaussian/core.hpp"

namespace gaussmith {

class PrecisionCore : public GaussianCore {
 public:
  PrecisionCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override { return geometry_->row_variances(); }
  [[nodiscard]] bool factorises_cheaply() const override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] std::unique_ptr<SequentialGaussian> sweep(const LatentPoint& mean) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;

  /// L, the Cholesky factor of A.
  [[nodiscard]] const std::shared_ptr<Matrix>& factor() const { return lower_; }

 private:
  void find_sparse_variances(Vector& variance) const;
  /// About what rounding leaves uncertain in the eta of a point: the sums of large opposite terms that make it.
  [[nodiscard]] Vector rounding(const LatentPoint& point) const;
  /// |L'u|: how far a point is from the prior's centre, in posterior standard deviations.
  [[nodiscard]] double distance(const Vector& u) const;
  /// The positive rows by reflections, the negative ones down-dated: A = L+ (I - W W') L+'.
  [[nodiscard]] bool factorise_orthogonally(const Vector& precision);
  /// Whether the positive rows alone leave pivots that rounding has spoilt.
  [[nodiscard]] bool positive_part_is_hard(const Vector& precision) const;
  /// u := A^-1 u.
  void solve(Vector& u) const;
  /// What rounding of a dense prior's covariance and of its factor does.
  [[nodiscard]] RoundingError covariance_rounding(const LatentPoint& at, const RowMarginals& rows) const;

  std::shared_ptr<Matrix> lower_;  // Cholesky factor of A, shared with the laws made of it.
  Vector diagonal_;                // Of A, with the sizes of negative terms.
  double solve_error_ = 0.0;       // Relative, of solves by the factor.
  bool orthogonal_ = false;        // How the factor was made.
  bool negative_ = false;          // Whether there are negative precisions.
  double down_dating_ = 1.0;       // What the negative rows multiply errors by.
};

}  // namespace gaussmith
