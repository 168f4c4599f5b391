#pragma once
// The core of a model whose weights were measured, y = M w + noise of one variance, beside its sites on eta = H w:
//   A = M'M / variance + H'T H (+ Sigma^-1 of independent weights),  D x D.
// Measurements are a part of the Gaussian factor and not rows: engines see the sites alone, whose number stays as
// measurements are added. Everything that the Gaussian factor says is one length |rho|^2, rho = ((M w - y) / sd,
// (w - mean) / sd_w), which is linear in w: coordinates of a point are w with its rho below, so that inner products
// need no matrix and do not cancel.
//
// Two ways to factorise. Dense: D^3 flops for A^-1, which gives variances of sparse rows of H by their pairs of
// entries. Where every row of H has at most one entry, no precision is zero, negative or small beside what
// measurements tell, and these are few:
// A^-1 = G - G M'S^-1 M G with diagonal G and S = variance I + M G M', N x N; N^2 D flops.

#include "gaussian/core.hpp"
#include "measurement/weight_rows.hpp"

#include <memory>

namespace gaussmith {

/// Measurements y = M w + N(0, variance); never changed once shared.
struct MeasuredRows {
  Matrix rows;    ///< M', D x N: one measurement a column.
  Vector values;  ///< y.
  double variance = 1.0;
  /// M'M of the first `gram_rows` measurements, lower triangle; empty for none. Sums that grow with the measurements
  /// need not be made anew.
  std::shared_ptr<const Matrix> gram = {};
  Index gram_rows = 0;

  [[nodiscard]] Index count() const { return rows.cols(); }
};

class MeasuredCore final : public GaussianCore {
 public:
  /// The geometry is that of the model without the measurements: independent weights or no Gaussian factor. Whitens it.
  MeasuredCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset,
               std::shared_ptr<const MeasuredRows> measured);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override { return geometry_->row_variances(); }
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
  [[nodiscard]] ParameterGradient prior_gradient(const LatentPoint& at, const RowMarginals& rows,
                                                 const Vector& implicit) const override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

  /// A^-1 at the sites, both triangles; computed once for them.
  [[nodiscard]] std::shared_ptr<const Matrix> covariance() const;
  /// The weights of a point.
  [[nodiscard]] Vector weights(const LatentPoint& at) const { return at.coordinates.head(dimension_); }

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;
  /// Not asked for: prior_gradient is its own.
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 private:
  /// The point with these weights.
  [[nodiscard]] LatentPoint at_weights(const Vector& w) const;
  /// F'x of the Gaussian factor's rows F = (M / sd, 1 / sd_w), and diag F'F.
  [[nodiscard]] Vector factor_transposed_times(const Vector& x) const;
  [[nodiscard]] Vector factor_squares() const;
  /// A from its parts, lower triangle.
  void set_precision(Matrix& a) const;
  /// A^-1, at least its lower triangle.
  [[nodiscard]] const Matrix& inverse() const;
  /// A^-1 b.
  [[nodiscard]] Vector solve(const Vector& b) const;
  /// The lower Cholesky factor of A; false where there is none.
  [[nodiscard]] bool make_factor() const;
  [[nodiscard]] bool factorise_few();

  std::shared_ptr<const MeasuredRows> measured_;
  WeightRows site_rows_;
  Index dimension_;
  double noise_sd_;
  Vector weight_sd_;                  // Of a Gaussian factor; else empty.
  SiteApproximation at_;              // Where it is factorised.
  bool few_ = false;                  // Which way.
  mutable double solve_error_ = 0.0;  // Relative, of solves; an error of A counts by the length of a solution.
  // Rooms of D x D are kept from one factorisation to the next where nobody else holds them.
  mutable std::shared_ptr<Matrix> lower_;  // L of A = L L'; made when needed for few measurements.
  mutable std::shared_ptr<Matrix> inverse_;
  mutable bool factored_ = false, inverted_ = false, mirrored_ = false;  // What of them is made.
  Vector spread_;                                                        // Diagonal of G.
  Matrix small_;                                                         // L of S.
  Matrix scaled_;                                                        // M G, N x D.
};

}  // namespace gaussmith
