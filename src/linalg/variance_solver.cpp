#include "linalg/variance_solver.hpp"

#include <algorithm>
#include <utility>

namespace gaussmith {

VarianceSolver::VarianceSolver(const PrecisionSystem& system, const VarianceOptions& options, Matrix root,
                               VarianceEstimate& out)
    : system_(system),
      options_{.reduction = options.reduction, .max_iterations = options.max_iterations},
      root_(std::move(root)),
      out_(out) {}

Vector VarianceSolver::known_rows() const {
  Vector sum = Vector::Zero(system_.rows);
  for (Index begin = 0; begin < root_.cols(); begin += solved_at_once) {
    const Matrix products = system_.rows_times(root_.middleCols(begin, std::min(solved_at_once, root_.cols() - begin)));
    for (Index k = 0; k < products.cols(); ++k) sum += products.col(k).cwiseAbs2();
  }
  return sum;
}

Vector VarianceSolver::known_weights() const {
  Vector sum = Vector::Zero(system_.dimension);
  for (Index k = 0; k < root_.cols(); ++k) sum += root_.col(k).cwiseAbs2();
  return sum;
}

Matrix VarianceSolver::known(const Matrix& b) const {
  if (root_.cols() == 0) return Matrix::Zero(b.rows(), b.cols());
  return root_ * (root_.transpose() * b).eval();
}

Matrix VarianceSolver::solve(const Matrix& b, const Matrix& start) {
  ConjugateGradientResult solved = conjugate_gradients(system_.times, b, options_, system_.preconditioner, start);
  out_.products += solved.iterations + (start.size() > 0 ? 1 : 0);
  out_.solves = std::max(out_.solves, solved.end);
  return std::move(solved.solution);
}

}  // namespace gaussmith
