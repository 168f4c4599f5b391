#pragma once
// A = P + H'T H with P diagonal, factorised over its few rows instead of its many weights:
//   A^-1 = P^-1 - P^-1 H'T^1/2 B^-1 T^1/2 H P^-1,  |A| = |P| |B|,  B = I + T^1/2 H P^-1 H'T^1/2.
// N^3 / 3 flops and N^2 numbers, whatever the number of weights.

#include "gaussmith/design.hpp"
#include "gaussmith/types.hpp"

namespace gaussmith {

class RowFactor {
 public:
  /// False where P or B is not positive definite, or not finite; then there is no factor until the next success.
  [[nodiscard]] bool factorise(const Design& rows, const Vector& precision, const Vector& own, int threads);

  [[nodiscard]] bool exists() const { return lower_.size() > 0; }
  /// The precisions it was made with, T and P.
  [[nodiscard]] const Vector& precision() const { return precision_; }
  [[nodiscard]] const Vector& own() const { return own_; }
  /// A^-1 X with the rows it was made with.
  [[nodiscard]] Matrix solve(const Design& rows, const Matrix& x, int threads) const;
  /// log|A|.
  [[nodiscard]] double log_determinant() const;

 private:
  Vector precision_, own_;
  Matrix lower_;  // B = L L'.
};

}  // namespace gaussmith
