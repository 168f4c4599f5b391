#pragma once
// A X = B for positive definite A by preconditioned conjugate gradients, given products with A alone. Every column is
// solved on its own; the products of all columns that go on are asked for together.

#include "linalg/linear_map.hpp"

#include <functional>
#include <limits>
#include <vector>

namespace gaussmith {

/// A column stops when its residual r has r'M r <= max(reduction^2 b'M b, residual_square), M the preconditioner.
struct ConjugateGradientOptions {
  double reduction = 1e-8;
  double residual_square = 0.0;
  int max_iterations = std::numeric_limits<int>::max();
};

/// How conjugate gradients ended, from good to bad; of several columns, the worst.
enum class ConjugateGradientEnd {
  converged,
  iteration_limit,
  not_positive,  ///< A direction p had p'A p <= 0 or NaN: A or M is not positive definite, or not finite.
};

struct ConjugateGradientResult {
  Matrix solution;          ///< What was reached, however it ended.
  Vector residual_squares;  ///< r'M r of every column.
  int iterations = 0;       ///< Products with A beyond the one that a start takes.
  ConjugateGradientEnd end = ConjugateGradientEnd::converged;
};

/// Called after each iteration: column columns[j] of the solution moved by lengths[j] times column j of the block that
/// A was last applied to (0 where p'A p <= 0, which ends the column). Keeps linear functions of the solution up to date
/// without products of their own.
using ConjugateGradientStep = std::function<void(const std::vector<Index>& columns, const Vector& lengths)>;

/// `preconditioner` is a product with M, roughly A^-1, positive definite; none is the identity. `start` is a first X;
/// none is zero.
[[nodiscard]] ConjugateGradientResult conjugate_gradients(const LinearMap& a, const Matrix& b,
                                                          const ConjugateGradientOptions& options = {},
                                                          const LinearMap& preconditioner = {}, Matrix start = {},
                                                          const ConjugateGradientStep& stepped = {});

}  // namespace gaussmith
