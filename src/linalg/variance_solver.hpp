#pragma once
// What the estimators of variances share: solves in blocks, and the part of A^-1 that a root W knows.

#include "gaussmith/random.hpp"
#include "linalg/variance_estimators.hpp"

namespace gaussmith {

/// Items that error bars are computed from.
constexpr Index bar_items = 2048;

/// Counts its products and how its solves ended in `out`.
class VarianceSolver {
 public:
  /// W W' <= A^-1; no columns: nothing is known.
  VarianceSolver(const PrecisionSystem& system, const VarianceOptions& options, Matrix root, VarianceEstimate& out);

  [[nodiscard]] const PrecisionSystem& system() const { return system_; }
  /// diag(H W W'H') and diag(W W').
  [[nodiscard]] Vector known_rows() const;
  [[nodiscard]] Vector known_weights() const;
  /// W W'B.
  [[nodiscard]] Matrix known(const Matrix& b) const;
  /// W.
  [[nodiscard]] const Matrix& root() const { return root_; }
  /// A^-1 B, from `start` on where that is not empty.
  [[nodiscard]] Matrix solve(const Matrix& b, const Matrix& start);

 private:
  const PrecisionSystem& system_;
  ConjugateGradientOptions options_;
  Matrix root_;
  VarianceEstimate& out_;
};

void estimate_by_probes(VarianceSolver& solver, const ProbedVariances& method, const VarianceOptions& options,
                        VarianceEstimate& out);
void estimate_by_draws(VarianceSolver& solver, const SampledVariances& method, const VarianceOptions& options,
                       VarianceEstimate& out);
/// The same without control steps.
void estimate_by_conditioned_draws(VarianceSolver& solver, const SampledVariances& method,
                                   const VarianceOptions& options, VarianceEstimate& out);
/// The error of rows and weights that are known(B) alone, from exact ones at some of them.
void check_known(VarianceSolver& solver, const LanczosVariances& method, const VarianceOptions& options,
                 VarianceEstimate& out);

}  // namespace gaussmith
