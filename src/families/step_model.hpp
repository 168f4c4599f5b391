#pragma once
// Directions of ascent from the bound with its site precisions held fixed, tau_n = -2 dE[log t_n]/dv_n. Then the bound
// is that of Gaussian sites: with A = P + H' diag(tau) H the best mean step solves A x = g, and every row of a
// triangular root has its own best value, c = A_SS^-1 e / sqrt((A_SS^-1)_ee) on its pattern S, e the diagonal entry.
// Negative precisions (sites that are not log-concave) are replaced by zero here, so A stays positive definite;
// where there are any, a row moves by the Newton step (A_SS + e e' / c_e^2)^-1 g with the true gradient g instead.
//
//   direct:       A is formed; exact for every triangular family. N D^2 + D^3 / 3.
//   matrix-free:  rows of small pattern from the Gram matrix of their columns, other rows and the mean through the
//                 diagonal of A; the mean by a few steps of conjugate gradients. N D K, nothing is D x D.

#include "families/family_objective.hpp"

namespace gaussmith {

/// Factor analysis: where d_j = 0 is best it stays at this part of the conditional standard deviation; V would be
/// singular without, and the bound loses 1e-8.
inline constexpr double smallest_deviation = 1e-4;

struct FamilyStep {
  Vector mean, root;
  Vector eta = {};                  ///< H mean where it is known, else empty.
  std::vector<Index> floored = {};  ///< Factor analysis: entries d_j that the step takes to their floor.
  int jittered = 0;                 ///< Whether A needed a ridge.
  double mean_decrement = 0.0, root_decrement = 0.0;  ///< gradient'step of both parts, not negative.
};

class StepModel {
 public:
  explicit StepModel(const FamilyObjective& objective);

  /// The gradient at a point and the step from it. Where rows are solved for in windows of columns, their Gram matrices
  /// serve for both.
  [[nodiscard]] FamilyStep step(const FamilyPoint& point, FamilyGradient& gradient) const;
  [[nodiscard]] FamilyStep step(const FamilyPoint& point, const FamilyGradient& gradient,
                                const std::vector<Matrix>* grams) const;

  /// The diagonal of A for every column of the root's space.
  [[nodiscard]] Vector diagonal(const Vector& precision) const;
  /// The diagonal of A over the mean's space.
  [[nodiscard]] Vector mean_diagonal(const Vector& precision) const;

 private:
  /// A gradient to follow by Newton steps; null for the best value of every row.
  struct Slope {
    const Vector* entries;
    const Vector* gradient;
  };
  /// Where the diagonal of A alone sends every entry, the default of those that nothing better is known for.
  [[nodiscard]] Vector diagonal_target(const FamilyPoint& point, const FamilyGradient& gradient,
                                       const Vector& a_diagonal, FamilyStep& step) const;
  /// A formed and factorised: rows of a triangular root, and the mean where it shares the rows.
  void direct_step(const Vector& precision, const FamilyGradient& gradient, const Slope* slope, Vector& target,
                   FamilyStep& step) const;
  /// Rows of a triangular root that are nothing but their diagonal entry.
  void diagonal_rows(const Vector& site_squares, const Slope* slope, const Vector& entries, Vector& target) const;
  void direct_rows(const Matrix& reversed_factor, const Matrix& a, const Slope* slope, Vector& target) const;
  void window_rows(const Vector& precision, const std::vector<Matrix>* grams, const Slope* slope, Vector& target) const;
  /// Conjugate gradients until what is left is small beside itself or beside the decrement of the root.
  void solve_mean(const Vector& precision, const Vector& diagonal, const Vector& right, FamilyStep& step) const;
  /// The best entries of one row given A over its columns `at` (positions within a); false when not positive definite.
  [[nodiscard]] bool solve_row(const Matrix& a, Index offset, Index row, const Slope* slope, Vector& target) const;
  [[nodiscard]] std::size_t block_index(const RootBlock& at) const;
  /// The Newton step of one row, given x -> A_SS^-1 x.
  template <class Solve>
  void newton_row(Index row, const Slope& slope, const Solve& solve, Vector& target) const;

  const FamilyObjective* objective_;
  bool direct_ = false;
  bool windows_ = false;
  std::vector<std::vector<std::pair<int, Index>>> row_entries_;  // Panel rows: (column, entry), ascending.
};

/// Site precisions of a point, negative ones replaced by zero.
[[nodiscard]] Vector positive_precision(const FamilyPoint& point);

}  // namespace gaussmith
