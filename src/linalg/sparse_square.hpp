#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// h'C h of a sparse row h and symmetric C, of which the lower triangle is read: every pair of entries once, L^2 / 2
/// products.
template <class Rows>
double sparse_square(const Rows& rows, Index row, const Matrix& covariance) {
  double diagonal = 0.0;
  double pairs = 0.0;
  for (typename Rows::InnerIterator j(rows, row); j; ++j) {
    const double value = j.value();
    const double* const column = covariance.data() + j.col() * covariance.rows();
    diagonal += value * value * column[j.col()];
    double sum = 0.0;
    typename Rows::InnerIterator k = j;
    for (++k; k; ++k) sum += k.value() * column[k.col()];
    pairs += value * sum;
  }
  return diagonal + 2.0 * pairs;
}

}  // namespace gaussmith
