#pragma once
// Matrix-free form of the core: A = Q + H'T H over the weights, Q diagonal, known by its products alone. Coordinates
// are w - mean. Means come from conjugate gradients, preconditioned with the diagonal; variances from one of the
// estimators of linalg/variance_estimators.hpp, the log-determinant from stochastic Lanczos quadrature. A product costs
// two with H; nothing is D x D or N x N, unless exact variances are asked for. No negative site precisions.

#include "gaussian/core.hpp"
#include "linalg/variance_estimators.hpp"

namespace gaussmith {

class MatrixFreeCore final : public GaussianCore {
 public:
  MatrixFreeCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset, const Estimation& estimation);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] bool factorises_cheaply() const override { return true; }
  [[nodiscard]] Accuracy accuracy() const override;
  void set_draft(bool draft) override;
  [[nodiscard]] VarianceErrors variance_errors() override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  /// Hadamard's inequality.
  [[nodiscard]] double largest_half_log_det() const override;
  [[nodiscard]] Vector covariance_times(const Vector& x) const override;
  [[nodiscard]] LatentPoint point(Vector coordinates) const override;
  [[nodiscard]] LatentPoint centre() const override;
  [[nodiscard]] double inner(const LatentPoint& a, const LatentPoint& b) const override;
  [[nodiscard]] double slope(const LatentPoint& from, const LatentPoint& to,
                             const Vector& site_gradient) const override;
  [[nodiscard]] RoundingError rounding_error(const LatentPoint& at) override;
  [[nodiscard]] std::unique_ptr<PosteriorLaw> law(const LatentPoint& at) const override;

 protected:
  [[nodiscard]] bool factorise(const SiteApproximation& sites) override;
  void find_variances(Vector& variance, Vector& share) override;
  [[nodiscard]] Vector dual(const LatentPoint& at) const override;
  [[nodiscard]] Matrix covariance_weights(const LatentPoint& at, const Vector& implicit) const override;

 private:
  [[nodiscard]] const Design& design() const { return geometry_->design(); }
  /// A X.
  [[nodiscard]] Matrix times(const Matrix& x) const;
  [[nodiscard]] LinearMap product() const;
  [[nodiscard]] Vector solve(const Vector& b, const ConjugateGradientOptions& options) const;
  [[nodiscard]] PrecisionSystem system() const;
  [[nodiscard]] VarianceOptions estimator_options() const;
  /// The variances at the present precisions, and what they were made of.
  [[nodiscard]] const VarianceEstimate& estimate() const;
  /// log|Q|, or what stands for it without a Gaussian factor.
  [[nodiscard]] double prior_log_determinant() const;
  /// Of the residuals of draws: such that no direction of the weights is left out.
  [[nodiscard]] double final_reduction() const;
  /// H'diag(weights) H on the diagonal, exactly where the design has entries.
  [[nodiscard]] Vector gram_diagonal(const Vector& weights) const;

  Estimation estimation_;
  Vector prior_precision_;  // The diagonal of Q; zeros without a Gaussian factor.
  std::vector<Index> single_weight_;
  Vector single_scale_;
  Vector precision_;  // tau.
  Vector diagonal_;   // Of A.
  mutable std::optional<VarianceEstimate> estimate_;
  mutable Matrix last_root_;  // Of the estimate before, for other precisions: where its solves may begin.
  mutable std::optional<LogDeterminant> log_determinant_;
  bool draft_ = false;
  mutable bool solved_ = true;  // The last mean.
  bool checked_ = false;        // Whether the estimate knows its error, where that costs solves.
};

}  // namespace gaussmith
