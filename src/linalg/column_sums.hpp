#pragma once
// Sums of products of matrix columns, one pass over memory each: written out because they were the largest part of a
// chevron's step after its matrix products (expressions load and store every sum once a column, with the instruction
// set of the build).

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// out(i, k) += sum_j weight(j, k) x(i, columns[j])^2.
void add_weighted_squares(const Eigen::Ref<const Matrix>& x, const std::vector<Index>& columns, const Matrix& weight,
                          Eigen::Ref<Matrix> out);

/// out(i) += sum_c a(i, c) b(i, c).
void add_row_products(const Eigen::Ref<const Matrix>& a, const Eigen::Ref<const Matrix>& b, Eigen::Ref<Vector> out);

/// sum_i weight_i x_i^2.
[[nodiscard]] double weighted_square(const Eigen::Ref<const Vector>& x, const Eigen::Ref<const Vector>& weight);

}  // namespace gaussmith
