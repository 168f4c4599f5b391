#pragma once
// The Gaussian factor seen through the design: what the forms of the core need to know about the prior.

#include "gaussian/inducing_basis.hpp"
#include "gaussmith/model.hpp"
#include "linalg/dense.hpp"

#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

namespace gaussmith {

/// What is wrong with a model that has no Gaussian factor and too few rows, in one sentence.
inline constexpr std::string_view undetermined_weights =
    "the sites leave some weights undetermined; give the prior a Gaussian factor or add rows";

/// Points to predict at, as the prior sees them.
struct NewInputs {
  const Matrix* inputs;             ///< The process at new inputs.
  std::optional<Design> rows = {};  ///< Rows of the weights that stand beside the process, where there are any.
};
struct NewRows {
  Design rows;  ///< Linear combinations of w; the identity stands for w itself.
};
using NewPoints = std::variant<NewInputs, NewRows>;

/// New points [begin, end) as the covariance form sees them: prior moments and covariance with the model's rows.
struct CrossBlock {
  Matrix covariance;  ///< N x M, Cov(eta_train, eta_new).
  Vector mean, variance;
  Matrix whitened = {};  ///< rank x M, the points' rows of G where the prior is known by that (JointPrior); else empty.
};

/// New points as the precision form sees them: eta_new = mean + rows u + independent noise of variance `leftover`.
struct WhitenedBlock {
  Matrix rows;  ///< rank x M, transposed.
  Vector mean, leftover;
};

/// Whether values of a process at inputs that repeat one another exactly are kept apart, or are one weight (where the
/// design is the identity).
enum class Copies { apart, merged };

/// w = mean + R u with u ~ N(0, I), or u = w with no Gaussian factor.
class PriorGeometry {
 public:
  /// Evaluates the kernel matrix of a process. With copies merged, prior, design, mean and covariance below are those
  /// of the distinct weights; new rows and the weights handed out are still the model's.
  PriorGeometry(const Prior& prior, const Design& design, int threads, Copies copies = Copies::apart);
  /// A process seen through its inducing variables: R is that of their values, G = a(x_n)', and nothing is N x N. New
  /// points are the business of its law.
  PriorGeometry(std::shared_ptr<const InducingBasis> basis, int threads);
  /// A process whose covariances are the business of others: dimensions, means and the prior itself, nothing N x N.
  PriorGeometry(const GaussianProcess& process, int threads);

  [[nodiscard]] Index rows() const { return design_.rows(); }
  /// Of the model's weights.
  [[nodiscard]] Index dimension() const { return spread_.rows(); }
  [[nodiscard]] bool has_gaussian() const { return has_gaussian_; }
  /// Whether the prior alone is a distribution that the cores can factorise.
  [[nodiscard]] bool is_proper() const;
  [[nodiscard]] const Prior& prior() const { return prior_; }
  [[nodiscard]] const Design& design() const { return design_; }
  [[nodiscard]] int threads() const { return threads_; }
  /// Of a process seen through inducing variables; else null.
  [[nodiscard]] const std::shared_ptr<const InducingBasis>& basis() const { return basis_; }

  /// The mean of w.
  [[nodiscard]] const Vector& mean() const { return mean_; }
  /// H mean (without the model's offset).
  [[nodiscard]] Vector row_mean() const { return design_.times(mean_, threads_); }

  /// Sigma of a dense prior or a process; empty otherwise.
  [[nodiscard]] const Matrix& covariance() const { return covariance_; }
  /// The diagonal of Sigma.
  [[nodiscard]] Vector weight_variances() const;
  [[nodiscard]] bool has_independent_weights() const { return variances_.has_value(); }
  /// Sigma for weights [first, first + size).
  [[nodiscard]] Matrix weight_covariance(Index first, Index size) const;
  /// The diagonal of K = H Sigma H', without K; infinite without a Gaussian factor.
  [[nodiscard]] Vector row_variances() const;
  /// |H| x for x >= 0: what sums over the weights are made of before they cancel. An operator that only multiplies
  /// knows their result alone.
  [[nodiscard]] Vector absolute_times(const Vector& x) const;
  /// K = H Sigma H', full and symmetric. A process or dense prior with the identity design lends its own matrix.
  [[nodiscard]] const Matrix& row_covariance();
  /// The same for new points.
  [[nodiscard]] Matrix prior_covariance(const NewPoints& points) const;

  /// Computes R, once, so that new points may be whitened. Dense priors: D^3 / 3 flops.
  void whiten();
  /// R and the model's rows in whitened coordinates, once, so that the functions of G below may be called. Dense
  /// priors: N D^2 more; an operator is asked for its entries.
  void whiten_rows();
  [[nodiscard]] Index rank() const { return rank_; }
  /// G' = (H R)', rank x N, for rows [begin, end).
  [[nodiscard]] Matrix whitened_rows(Index begin, Index end) const;
  /// G'diag(weights) G, rank x rank, lower triangle.
  [[nodiscard]] Matrix whitened_gram(const Vector& weights) const;
  /// sum_n weights_n G_nj^2 for every column.
  [[nodiscard]] Vector whitened_column_squares(const Vector& weights) const;
  /// H R u for the model's rows.
  [[nodiscard]] Vector whitened_times(const Vector& u) const;
  /// R'H'x.
  [[nodiscard]] Vector whitened_transposed_times(const Vector& x) const;
  /// H R of a dense prior or process.
  [[nodiscard]] const Design& whitened_design() const { return whitened_; }
  /// Whether G is stored with few entries a row; they are then had one row at a time, columns ascending.
  struct Entry {
    Index column;
    double value;
  };
  [[nodiscard]] bool has_sparse_rows() const;
  void sparse_row(Index n, std::vector<Entry>& entries) const;
  /// R of a dense prior or process, with its pivots.
  [[nodiscard]] const PivotedCholesky& factor() const { return factor_; }

  [[nodiscard]] Index count(const NewPoints& points) const;
  [[nodiscard]] CrossBlock cross(const NewPoints& points, Index begin, Index end) const;
  [[nodiscard]] WhitenedBlock whitened(const NewPoints& points, Index begin, Index end) const;
  /// The same with the weights w in place of u: D x M rows and the part of the mean that does not depend on w. New
  /// inputs of a process need the geometry whitened; rows of weights do not.
  [[nodiscard]] WhitenedBlock weight_rows(const NewPoints& points, Index begin, Index end) const;

  /// R u, the model's weights.
  [[nodiscard]] Matrix unwhiten(const Matrix& u) const;
  /// R'X for X with a row for each distinct weight.
  [[nodiscard]] Matrix root_transposed_times(const Matrix& x) const;
  /// The rows of R that form a lower triangle and carry all of w; dense priors only.
  [[nodiscard]] Matrix pivot_triangle() const;
  /// H'M H for symmetric M over the rows.
  [[nodiscard]] Matrix pull_back(const Matrix& row_weights) const;

 private:
  [[nodiscard]] Matrix covariance_times(const Matrix& x) const;
  /// H R for rows H of weights in small blocks.
  [[nodiscard]] Design block_rows(const Design& h) const;
  /// Whether R is diagonal, so that it scales vectors.
  [[nodiscard]] bool scales() const { return root_.size() > 0; }
  /// H Sigma H' for rows H of the distinct weights.
  [[nodiscard]] Matrix covariance_of(const Design& h) const;
  /// New rows of the model's weights as rows of the distinct ones, transposed.
  [[nodiscard]] Matrix folded_rows(const NewRows& points, Index begin, Index end) const;
  /// New inputs [begin, end) and their covariance with w.
  struct FreshInputs {
    Matrix covariance;  // D x M.
    Vector mean, variance;
  };
  [[nodiscard]] FreshInputs fresh_inputs(const NewInputs& points, Index begin, Index end) const;

  Prior prior_;
  Design spread_;  // The model's weights as rows of the distinct ones; the identity where there are no copies.
  Design design_;  // Of the distinct weights.
  int threads_;
  bool has_gaussian_;
  std::shared_ptr<const InducingBasis> basis_;
  Vector mean_;
  std::optional<Vector> variances_;        // Of independent weights.
  std::optional<SparseMatrix> blocks_;     // R of weights in small blocks.
  SharedMatrix covariance_;                // Sigma of a dense prior or process.
  std::optional<Matrix> rows_covariance_;  // K when it is not Sigma itself.
  Index rank_ = 0;
  bool is_whitened_ = false, rows_are_whitened_ = false;
  Vector root_;             // Diagonal R of independent weights; else empty.
  PivotedCholesky factor_;  // R of dense priors.
  Design whitened_;         // H where R is diagonal, H R otherwise; with entries.
};

}  // namespace gaussmith
