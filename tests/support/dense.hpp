#pragma once
// Textbook linear algebra on small dense matrices, from Eigen's factorisations and not from the library's. Compiled
// here once: in every test that needs them they would take most of its time to compile.

#include "gaussmith/types.hpp"

namespace gaussmith::testing {

/// A B and A'B.
Matrix dense_product(const Matrix& a, const Matrix& b);
Matrix dense_transposed_product(const Matrix& a, const Matrix& b);

/// |A - B| in the Frobenius norm.
double distance(const Matrix& a, const Matrix& b);

/// A^-1 and A^-1 B by LU with pivoting.
Matrix dense_inverse(const Matrix& a);
Matrix dense_solve(const Matrix& a, const Matrix& b);

/// |A|, with its sign.
double dense_determinant(const Matrix& a);

/// Eigenvalues of a symmetric matrix, ascending.
Vector symmetric_eigenvalues(const Matrix& a);

/// A^+ b of a symmetric matrix; eigenvalues below 1e-12 of the largest count as zero.
Vector symmetric_solution(const Matrix& a, const Vector& b);

}  // namespace gaussmith::testing
