#include "gaussian/held_directions.hpp"

#include "linalg/dense.hpp"

namespace gaussmith {

HeldDirections::HeldDirections(const Matrix& constraints, const std::function<void(Matrix&)>& solve)
    : constraints_(constraints) {
  if (!any()) return;
  solved_ = constraints.transpose();
  solve(solved_);
  Matrix small = constraints_ * solved_;
  Matrix gram = constraints_ * constraints_.transpose();
  (void)cholesky(small);
  (void)cholesky(gram);
  log_determinant_ = 2.0 * (small.diagonal().array().log().sum() - gram.diagonal().array().log().sum());
  // W L^-T of S = L L', and S^-1.
  root_ = small.triangularView<Eigen::Lower>().solve(solved_.transpose()).transpose();
  const auto inverse = [](const Matrix& lower) {
    const Matrix root = lower.triangularView<Eigen::Lower>().solve(Matrix::Identity(lower.rows(), lower.cols()));
    return Matrix(root.transpose() * root);
  };
  inverse_ = inverse(small);
  gram_inverse_ = inverse(gram);
}

void HeldDirections::project(Vector& gradient) const {
  if (any()) gradient -= constraints_.transpose() * Vector(gram_inverse_ * Vector(constraints_ * gradient));
}

void HeldDirections::hold(Eigen::Ref<Matrix> x) const {
  if (any()) x -= solved_ * Matrix(inverse_ * Matrix(constraints_ * x));
}

Vector HeldDirections::lost_variances(const Matrix& rows) const {
  if (!any()) return Vector::Zero(rows.cols());
  return Matrix(root_.transpose() * rows).colwise().squaredNorm().transpose();
}

}  // namespace gaussmith
