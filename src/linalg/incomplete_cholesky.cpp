#include "linalg/incomplete_cholesky.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

constexpr double first_shift = 1e-3;
/// A pivot of the scaled matrix, whose diagonal is one, below which rounding may have made it.
constexpr double smallest_pivot = 1e-10;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

IncompleteCholesky::IncompleteCholesky(const SparseMatrix& a) : scale_(Vector::Ones(a.rows())) {
  for (Index i = 0; i < a.rows(); ++i) {
    const double diagonal = a.coeff(i, i);
    if (diagonal > 0.0 && std::isfinite(diagonal)) scale_(i) = 1.0 / std::sqrt(diagonal);
  }
  begins_.push_back(0);
  for (Index i = 0; i < a.rows(); ++i) {
    for (SparseMatrix::InnerIterator it(a, i); it && it.col() < i; ++it) {
      columns_.push_back(it.col());
      values_.push_back(scale_(i) * it.value() * scale_(it.col()));
    }
    columns_.push_back(i);
    values_.push_back(1.0);
    begins_.push_back(static_cast<Index>(columns_.size()));
  }
  const std::vector<double> entries = values_;
  // A large enough shift makes the diagonal dominate, so this ends.
  while (!factorise(entries)) shift_ = std::max(first_shift, 2.0 * shift_);
}

bool IncompleteCholesky::factorise(const std::vector<double>& entries) {
  values_ = entries;
  for (Index i = 0; i < scale_.size(); ++i) {
    const Index begin = begins_[at(i)];
    const Index diagonal = begins_[at(i + 1)] - 1;
    double pivot = 1.0 + shift_;
    for (Index p = begin; p < diagonal; ++p) {
      const Index j = columns_[at(p)];
      const Index end = begins_[at(j + 1)] - 1;
      double sum = values_[at(p)];
      for (Index s = begin, t = begins_[at(j)]; s < p && t < end;) {
        if (columns_[at(s)] < columns_[at(t)]) {
          ++s;
        } else if (columns_[at(s)] > columns_[at(t)]) {
          ++t;
        } else {
          sum -= values_[at(s++)] * values_[at(t++)];
        }
      }
      values_[at(p)] = sum / values_[at(end)];
      pivot -= values_[at(p)] * values_[at(p)];
    }
    // Written so that NaN, from an A that is not finite, ends the search as well.
    if (pivot < smallest_pivot) return false;
    values_[at(diagonal)] = std::sqrt(pivot);
  }
  return true;
}

Matrix IncompleteCholesky::solve(const Matrix& x) const {
  Matrix out = scale_.asDiagonal() * x;
  for (Index k = 0; k < out.cols(); ++k) {
    double* const y = out.col(k).data();
    for (Index i = 0; i < scale_.size(); ++i) {
      const Index diagonal = begins_[at(i + 1)] - 1;
      double sum = y[i];
      for (Index p = begins_[at(i)]; p < diagonal; ++p) sum -= values_[at(p)] * y[columns_[at(p)]];
      y[i] = sum / values_[at(diagonal)];
    }
    for (Index i = scale_.size() - 1; i >= 0; --i) {
      const Index diagonal = begins_[at(i + 1)] - 1;
      y[i] /= values_[at(diagonal)];
      for (Index p = begins_[at(i)]; p < diagonal; ++p) y[columns_[at(p)]] -= values_[at(p)] * y[i];
    }
  }
  return scale_.asDiagonal() * out;
}

}  // namespace gaussmith
