#pragma once
// Matrix-free form of the core: A = Q + H'T H over the weights, Q diagonal, known by its products alone. Coordinates
// are w - mean. Means come from conjugate gradients, preconditioned with the diagonal and, for draws and probes, with
// weights that are solved for first: those that their own precision holds least, such as an intercept and the commonest
// words of a text. Variances come from one of the estimators of linalg/variance_estimators.hpp, the log-determinant
// from stochastic Lanczos quadrature. A product costs two with H; nothing is D x D or N x N, unless exact variances are
// asked for. No negative site precisions.
//
// Where few rows join weights, draws and the log-determinant come through a factor over those rows (RowFactor), which
// is exact at the precisions it was made with and the preconditioner at others.

#include "gaussian/core.hpp"
#include "gaussian/row_factor.hpp"
#include "linalg/preconditioners.hpp"
#include "linalg/variance_estimators.hpp"

namespace gaussmith {

/// A factor over so many rows takes 4e10 flops and 200 MB: no more than some hundred products with a block of draws.
constexpr Index most_factored_rows = 5000;
/// Rows that join weights, those with several entries, where draws come through a factor over them; none where there
/// are more than that, or more than weights.
[[nodiscard]] std::vector<Index> factored_rows(const Design& design, const VarianceMethod& method);

/// Weights that draws and probes solve for first (SolvedFirst), at most: no more than 64, and no more numbers for them
/// than twice those of the design. None for operators, and none where draws come through a factor over rows.
[[nodiscard]] Index most_solved_first(const Design& design, const VarianceMethod& method);

class MatrixFreeCore final : public GaussianCore {
 public:
  MatrixFreeCore(std::shared_ptr<PriorGeometry> geometry, const Vector& offset, const Estimation& estimation);

  using GaussianCore::mean;
  [[nodiscard]] Vector prior_variances() const override;
  [[nodiscard]] bool factorises_cheaply() const override { return true; }
  [[nodiscard]] Accuracy accuracy() const override;
  void set_draft(bool draft) override;
  [[nodiscard]] bool drafts_differ() const override { return !joining_.empty(); }
  [[nodiscard]] VarianceErrors variance_errors() override;
  [[nodiscard]] LatentPoint mean(const Vector& shift, const SolveGoal& goal) const override;
  [[nodiscard]] LogDeterminant half_log_det() const override;
  [[nodiscard]] Accuracy determinant_accuracy() const override;
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
  /// The diagonal's with the weights of first_.
  [[nodiscard]] LinearMap preconditioner() const;
  /// Finds the weights to solve for first at the present precisions.
  void refresh_preconditioner() const;
  [[nodiscard]] VarianceOptions estimator_options() const;
  /// Q and what rows with one entry alone add to it: A without the rows that join weights.
  [[nodiscard]] Vector own_precision() const;
  /// Sees to a factor over the rows that is good for solves at the present precisions. The largest c with
  /// A^-1 <= c M for its M, 1 where it was made for them; nothing where there is no factor.
  [[nodiscard]] std::optional<double> refresh_factor(bool exact) const;
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
  mutable bool exact_determinant_ = false;  // Whether it came from a factor, of few weights or over rows.
  std::vector<Index> joining_;              // Rows of the factor; none where it is not used.
  Design joining_rows_;
  mutable RowFactor factor_;
  mutable std::shared_ptr<const SolvedFirst> first_;
  mutable double held_ = 1.0;  // The least share of own precision in A_jj over the other weights.
  bool draft_ = false;
  mutable bool solved_ = true;  // The last mean.
  bool checked_ = false;        // Whether the estimate knows its error, where that costs solves.
};

}  // namespace gaussmith
