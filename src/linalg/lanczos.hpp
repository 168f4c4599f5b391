#pragma once

#include "gaussmith/types.hpp"

#include <functional>

namespace gaussmith {

/// An orthonormal basis Q of the Krylov space of a symmetric A, and A within it: A Q = Q T but for the last column.
struct LanczosBasis {
  Matrix basis;      ///< Q, D x K.
  Matrix projected;  ///< T = Q'A Q, K x K. Eigenvalues of T at either end of the spectrum tend to those of A.
};

/// Up to `steps` steps of Lanczos' recursion from `start` (not zero, of any length), each orthogonalised twice against
/// all earlier ones. K = steps unless the Krylov space ends earlier: then `fresh` gives a vector to go on from (T stays
/// Q'A Q), and without it the basis spans an invariant subspace. One product with A a step, 4 D K^2 flops in all.
[[nodiscard]] LanczosBasis lanczos(const std::function<Vector(const Vector&)>& a, const Vector& start, Index steps,
                                   const std::function<Vector()>& fresh = {});

}  // namespace gaussmith
