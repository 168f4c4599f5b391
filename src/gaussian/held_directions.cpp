#include "gaussian/held_directions.hpp"

#include "linalg/dense.hpp"
#include "linalg/inverse_of_factor.hpp"

#include <cmath>

namespace gaussmith {

HeldDirections::HeldDirections(const Matrix& constraints, const std::vector<Index>& grounds, const Vector& weights,
                               const std::function<void(Matrix&)>& solve)
    : constraints_(constraints), grounds_(grounds) {
  if (!any()) return;
  const Index size = constraints.cols();
  const auto held = static_cast<Index>(grounds.size());
  Matrix both = Matrix::Zero(size, constraints.rows() + held);
  both.leftCols(constraints.rows()) = constraints.transpose();
  for (Index g = 0; g < held; ++g) both(grounds[static_cast<std::size_t>(g)], constraints.rows() + g) = 1.0;
  solve(both);
  solved_ = both.leftCols(constraints.rows());
  Matrix small = constraints_ * solved_;
  Matrix gram = constraints_ * constraints_.transpose();
  proper_ = cholesky(small) && cholesky(gram);
  if (!proper_) return;
  lost_ = small.triangularView<Eigen::Lower>().solve(solved_.transpose()).transpose();
  inverse_ = inverse_of_factor(small);
  gram_inverse_ = inverse_of_factor(gram);
  log_determinant_ = 2.0 * (half_log_determinant(small) - half_log_determinant(gram));

  Matrix u = both.rightCols(held);
  u -= lost_ * Matrix(lost_.transpose()(Eigen::all, grounds_));
  Matrix rest = -u(grounds_, Eigen::all);
  rest.diagonal() += weights.cwiseInverse();
  proper_ = cholesky(rest) && rest.allFinite();
  if (!proper_) return;
  gained_ = rest.triangularView<Eigen::Lower>().solve(u.transpose()).transpose();
  back_ = u * inverse_of_factor(rest);
  log_determinant_ += 2.0 * half_log_determinant(rest) + weights.array().log().sum();
}

void HeldDirections::hold(Eigen::Ref<Matrix> x) const {
  if (!any()) return;
  x -= solved_ * Matrix(inverse_ * Matrix(constraints_ * x));
  x += back_ * Matrix(x(grounds_, Eigen::all));
  // What rounding has left of the constraints is taken out once more.
  x -= solved_ * Matrix(inverse_ * Matrix(constraints_ * x));
}

void HeldDirections::hold_draws(Eigen::Ref<Matrix> x, Random& random) const {
  if (!any()) return;
  x -= solved_ * Matrix(inverse_ * Matrix(constraints_ * x));
  Matrix more(gained_.cols(), x.cols());
  for (double& value : more.reshaped()) value = random.normal();
  x += gained_ * more;
}

void HeldDirections::project(Vector& gradient) const {
  if (any()) gradient -= constraints_.transpose() * Vector(gram_inverse_ * Vector(constraints_ * gradient));
}

Vector HeldDirections::lost_variances(const Matrix& rows) const {
  if (!any()) return Vector::Zero(rows.cols());
  return Matrix(lost_.transpose() * rows).colwise().squaredNorm().transpose() -
         Matrix(gained_.transpose() * rows).colwise().squaredNorm().transpose();
}

}  // namespace gaussmith
