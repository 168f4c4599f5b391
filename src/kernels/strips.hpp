#pragma once
// Loops over one strip: consecutive rows of x against a single point. Vectorised for the machine the program runs on.

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Rows of a strip: a few columns of scratch of this length stay in the first-level cache.
inline constexpr Index strip_rows = 256;

/// Scaled squared distances are cut here, so that products with a vanishing correlation are 0 and never inf * 0.
inline constexpr double farthest_square = 1e200;

/// squares[i] = min(sum_c ((x(first + i, c) - point[c]) * inverse_scale[c])^2, farthest_square), i < squares.size().
/// Differences are taken first: equal rows give exactly 0 and a common offset of all inputs costs no digits.
void squared_distances(const Matrix& x, Index first, ConstSpan point, ConstSpan inverse_scale, Span squares);

/// The same, keeping every column's part: column c of `parts` (at least squares.size() rows) gets its squares.
void squared_distance_parts(const Matrix& x, Index first, ConstSpan point, ConstSpan inverse_scale, Span squares,
                            Eigen::Ref<Matrix> parts);

/// products[i] = offset + sum_c x(first + i, c) * point[c].
void inner_products(const Matrix& x, Index first, ConstSpan point, double offset, Span products);

/// sum_i a[i] b[i]; the order of summation depends on the length alone.
[[nodiscard]] double weighted_sum(ConstSpan a, ConstSpan b);

/// sum_i a[i] (x[i] - at).
[[nodiscard]] double weighted_differences(ConstSpan a, ConstSpan x, double at);

/// values[i] *= factor.
void scale(double factor, Span values);

/// out[i] = a[i] * b[i].
void multiply(ConstSpan a, ConstSpan b, Span out);

/// Column c as a span; kernels transpose points once so that each of them is one.
inline ConstSpan column_view(const Matrix& m, Index c) {
  return {m.data() + c * m.rows(), static_cast<std::size_t>(m.rows())};
}
/// The first `count` entries of column c.
inline Span column_head(Matrix& m, Index c, std::size_t count) { return {m.data() + c * m.rows(), count}; }

}  // namespace gaussmith
