#pragma once
// The largest eigenvalues of a symmetric matrix that is known by its products, and the space they were found in.

#include "linalg/linear_map.hpp"

#include <functional>

namespace gaussmith {

/// A Krylov space of A, in which its largest eigenvalues are those of Q'A Q.
struct LeadingSpace {
  Matrix basis;            ///< Q, D x K, orthonormal.
  Matrix projected;        ///< Q'A Q.
  Vector values;           ///< The largest Ritz values, largest first, as many as the start has columns.
  Matrix vectors;          ///< Their Ritz vectors, unit norm, the entry of largest size positive.
  Index products = 0;      ///< Products of A with a vector.
  bool converged = false;  ///< Whether |A u - theta u| <= tolerance theta for each of these pairs.
};

/// Lanczos' recursion in blocks as wide as the start (D x k, any columns), each orthogonalised twice against all
/// earlier ones, so that eigenvalues that coincide up to k times are found as often. Where a block brings nothing new,
/// `fresh` gives a vector to go on from. Ends when the residual of every pair is below `tolerance` times its value:
/// within as much of it is then an eigenvalue. At most `most` columns of Q. D K^2 flops beside the products.
[[nodiscard]] LeadingSpace leading_space(const LinearMap& a, const Matrix& start, double tolerance, Index most,
                                         const std::function<Vector()>& fresh);

/// Makes the entry of largest size of every column positive: the first of equal ones.
void fix_signs(Matrix& vectors);

}  // namespace gaussmith
