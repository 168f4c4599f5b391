#pragma once
// Sixty digits: what rounding in double precision is measured with. Shares no code with the library.

#include "gaussmith/types.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <vector>

namespace gaussmith::testing {

using Precise = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<60>, boost::multiprecision::et_off>;
using PreciseVector = std::vector<Precise>;

/// A dense matrix, by rows.
class PreciseMatrix {
 public:
  PreciseMatrix() = default;
  PreciseMatrix(Index rows, Index cols) : rows_(rows), cols_(cols), entries_(static_cast<std::size_t>(rows * cols)) {}
  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const { return cols_; }
  Precise& operator()(Index i, Index j) { return entries_[static_cast<std::size_t>(i * cols_ + j)]; }
  const Precise& operator()(Index i, Index j) const { return entries_[static_cast<std::size_t>(i * cols_ + j)]; }

 private:
  Index rows_ = 0, cols_ = 0;
  std::vector<Precise> entries_;
};

PreciseMatrix precise(const Matrix& m);
PreciseVector precise(const Vector& v);

/// L of A = L L'; throws std::domain_error where A is not positive definite to sixty digits.
PreciseMatrix precise_cholesky(const PreciseMatrix& a);
/// L^-1 b and L^-T b.
PreciseVector solve_lower(const PreciseMatrix& lower, PreciseVector b);
PreciseVector solve_lower_transposed(const PreciseMatrix& lower, PreciseVector b);

/// The entries on the diagonal.
PreciseVector diagonal(const PreciseMatrix& m);
/// A B and A'.
PreciseMatrix product(const PreciseMatrix& a, const PreciseMatrix& b);
PreciseMatrix transposed(const PreciseMatrix& a);

/// x' y.
Precise dot(const PreciseVector& x, const PreciseVector& y);

}  // namespace gaussmith::testing
