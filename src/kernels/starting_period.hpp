#pragma once

#include "gaussmith/types.hpp"

namespace gaussmith {

/// Where to start the search for a period: that of the sine and cosine which, beside a straight line, explain most of
/// the responses in one of the columns; between two spacings of the inputs and two thirds of their range. Without
/// responses, or where no column has a range, the geometric mean of both ends. Never a spacing of the inputs itself, at
/// which a periodic kernel is the same for every pair of rows. O(N) for each of at most some thousand frequencies.
[[nodiscard]] double starting_period(const Matrix& inputs, const Vector& responses);

}  // namespace gaussmith
