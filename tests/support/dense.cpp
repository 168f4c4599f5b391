#include "dense.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include <cmath>

namespace gaussmith::testing {

Matrix dense_product(const Matrix& a, const Matrix& b) { return a * b; }

Matrix dense_transposed_product(const Matrix& a, const Matrix& b) { return a.transpose() * b; }

double distance(const Matrix& a, const Matrix& b) { return (a - b).norm(); }

Matrix dense_inverse(const Matrix& a) { return a.inverse(); }

Matrix dense_solve(const Matrix& a, const Matrix& b) { return a.partialPivLu().solve(b); }

double dense_determinant(const Matrix& a) { return a.determinant(); }

Vector symmetric_eigenvalues(const Matrix& a) {
  return Eigen::SelfAdjointEigenSolver<Matrix>(a, Eigen::EigenvaluesOnly).eigenvalues();
}

Vector symmetric_solution(const Matrix& a, const Vector& b) {
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(a);
  const double least = 1e-12 * eigen.eigenvalues().cwiseAbs().maxCoeff();
  Vector parts = eigen.eigenvectors().transpose() * b;
  for (Index j = 0; j < parts.size(); ++j)
    parts(j) = std::abs(eigen.eigenvalues()(j)) > least ? parts(j) / eigen.eigenvalues()(j) : 0.0;
  return eigen.eigenvectors() * parts;
}

}  // namespace gaussmith::testing
