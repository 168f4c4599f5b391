#pragma once
// The Gaussian factor seen through the design: what the two forms of the core need to know about the prior.

#include "gaussmith/model.hpp"
#include "linalg/dense.hpp"

#include <optional>
#include <string_view>
#include <variant>

namespace gaussmith {

/// What is wrong with a model that has no Gaussian factor and too few rows, in one sentence.
inline constexpr std::string_view undetermined_weights =
    "the sites leave some weights undetermined; give the prior a Gaussian factor or add rows";

/// Points to predict at, as the prior sees them.
struct NewInputs {
  const Matrix* inputs;  ///< The process at new inputs.
};
struct NewRows {
  const Design* rows;  ///< Linear combinations of w; Identity stands for w itself.
};
using NewPoints = std::variant<NewInputs, NewRows>;

/// New points [begin, end) as the covariance form sees them: prior moments and covariance with the model's rows.
struct CrossBlock {
  Matrix covariance;  ///< N x M, Cov(eta_train, eta_new).
  Vector mean, variance;
};

/// New points as the precision form sees them: eta_new = mean + rows u + independent noise of variance `leftover`.
struct WhitenedBlock {
  Matrix rows;  ///< rank x M, transposed.
  Vector mean, leftover;
};

/// w = mean + R u with u ~ N(0, I), or u = w with no Gaussian factor.
class PriorGeometry {
 public:
  /// Evaluates the kernel matrix of a process. Both arguments must outlive the geometry.
  PriorGeometry(const Prior& prior, const Design& design, int threads);

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index dimension() const { return dimension_; }
  [[nodiscard]] bool has_gaussian() const { return !std::holds_alternative<NoGaussian>(*prior_); }
  [[nodiscard]] const Prior& prior() const { return *prior_; }
  [[nodiscard]] const Design& design() const { return *design_; }

  /// H mean (without the model's offset).
  [[nodiscard]] Vector row_mean() const;

  /// The diagonal of K = H Sigma H', without K; infinite without a Gaussian factor.
  [[nodiscard]] Vector row_variances() const;

  /// K = H Sigma H', full and symmetric. A process or dense prior with the identity design lends its own matrix.
  [[nodiscard]] const Matrix& row_covariance();

  /// Computes R, so that the whitened functions below may be called. Dense priors: D^3 / 3 flops.
  void whiten();
  [[nodiscard]] Index rank() const { return rank_; }
  /// G' = (H R)', rank x N, for rows [begin, end).
  [[nodiscard]] Matrix whitened_rows(Index begin, Index end) const;
  /// H R v for the model's rows.
  [[nodiscard]] Vector whitened_times(const Vector& u) const;
  /// R'H'x.
  [[nodiscard]] Vector whitened_transposed_times(const Vector& x) const;

  [[nodiscard]] Index count(const NewPoints& points) const;
  [[nodiscard]] CrossBlock cross(const NewPoints& points, Index begin, Index end) const;
  [[nodiscard]] WhitenedBlock whitened(const NewPoints& points, Index begin, Index end) const;
  /// The same with the weights w in place of u: D x M rows and the part of the mean that does not depend on w. New
  /// inputs of a process need the geometry whitened; rows of weights do not.
  [[nodiscard]] WhitenedBlock weight_rows(const NewPoints& points, Index begin, Index end) const;

  /// The mean of w.
  [[nodiscard]] Vector mean() const;
  /// R u, and H'M H for the gradient in the covariance of w.
  [[nodiscard]] Matrix unwhiten(const Matrix& u) const;
  [[nodiscard]] Matrix pull_back(Matrix row_weights) const;
  [[nodiscard]] Vector pull_back(const Vector& row_vector) const;

 private:
  [[nodiscard]] Matrix covariance_times(const Matrix& x) const;
  [[nodiscard]] Matrix pivot_triangle() const;
  [[nodiscard]] Matrix design_times(const Matrix& x) const;

  const Prior* prior_;
  const Design* design_;
  int threads_;
  Index rows_ = 0, dimension_ = 0, rank_ = 0;
  Matrix covariance_;                      // Sigma of a dense prior or process.
  std::optional<Matrix> rows_covariance_;  // K when it is not Sigma itself.
  Vector root_;                            // Diagonal R of isotropic and diagonal priors.
  PivotedCholesky factor_;                 // R of dense priors.
  Matrix dense_whitened_;                  // G when the design or R is dense; N x rank.
  SparseMatrix sparse_whitened_;
};

}  // namespace gaussmith
