#include "gaussmith/kernels.hpp"

#include "gaussmith/errors.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gaussmith {

Vector Kernel::contract_diagonal(const Matrix& x, const Vector& weights) const {
  // Small squares with nothing beside their diagonals: a few times the work of the diagonal, and of no family its own.
  constexpr Index square = 16;
  Vector total = Vector::Zero(static_cast<Index>(parameters().size()));
  for (Index begin = 0; begin < x.rows(); begin += square) {
    const Index count = std::min(square, x.rows() - begin);
    total += contract(x.middleRows(begin, count), Matrix(weights.segment(begin, count).asDiagonal()));
  }
  return total;
}

Matrix Kernel::input_gradient(const Matrix& /*x*/, const Matrix& /*z*/, const Matrix& /*weights*/,
                              int /*threads*/) const {
  throw InvalidModel(fmt::format("kernel {} has no derivative in its inputs", without_input_gradient()));
}

}  // namespace gaussmith
