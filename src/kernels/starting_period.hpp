#pragma once

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// Where to start the search for a period: those of the sines and cosines which, beside a straight line and one
/// another, explain most of the responses in one of the columns, strongest first, at least one and at most `count`;
/// between two spacings of the inputs and two thirds of their range. Without responses the geometric mean of both ends,
/// where no column has a range 1. Never a spacing of the inputs itself, at which a periodic kernel is the same for
/// every pair of rows. O(N) for each of at most some thousand frequencies.
[[nodiscard]] std::vector<double> strongest_periods(const Matrix& inputs, const Vector& responses, std::size_t count);

}  // namespace gaussmith
