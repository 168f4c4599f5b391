#include "support/precise.hpp"

#include <stdexcept>

namespace gaussmith::testing {

PreciseMatrix precise(const Matrix& m) {
  PreciseMatrix out(m.rows(), m.cols());
  for (Index i = 0; i < m.rows(); ++i)
    for (Index j = 0; j < m.cols(); ++j) out(i, j) = m(i, j);
  return out;
}

PreciseVector precise(const Vector& v) { return {v.begin(), v.end()}; }

PreciseMatrix precise_cholesky(const PreciseMatrix& a) {
  const Index n = a.rows();
  PreciseMatrix lower(n, n);
  for (Index j = 0; j < n; ++j) {
    Precise pivot = a(j, j);
    for (Index k = 0; k < j; ++k) pivot -= lower(j, k) * lower(j, k);
    if (!(pivot > 0)) throw std::domain_error("not positive definite to sixty digits");
    lower(j, j) = sqrt(pivot);
    for (Index i = j + 1; i < n; ++i) {
      Precise sum = a(i, j);
      for (Index k = 0; k < j; ++k) sum -= lower(i, k) * lower(j, k);
      lower(i, j) = sum / lower(j, j);
    }
  }
  return lower;
}

PreciseVector solve_lower(const PreciseMatrix& lower, PreciseVector b) {
  for (Index i = 0; i < lower.rows(); ++i) {
    Precise& x = b[static_cast<std::size_t>(i)];
    for (Index k = 0; k < i; ++k) x -= lower(i, k) * b[static_cast<std::size_t>(k)];
    x /= lower(i, i);
  }
  return b;
}

PreciseVector solve_lower_transposed(const PreciseMatrix& lower, PreciseVector b) {
  for (Index i = lower.rows() - 1; i >= 0; --i) {
    Precise& x = b[static_cast<std::size_t>(i)];
    for (Index k = i + 1; k < lower.rows(); ++k) x -= lower(k, i) * b[static_cast<std::size_t>(k)];
    x /= lower(i, i);
  }
  return b;
}

Precise dot(const PreciseVector& x, const PreciseVector& y) {
  Precise sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

PreciseVector diagonal(const PreciseMatrix& m) {
  PreciseVector out;
  for (Index i = 0; i < m.rows(); ++i) out.push_back(m(i, i));
  return out;
}

PreciseMatrix product(const PreciseMatrix& a, const PreciseMatrix& b) {
  PreciseMatrix out(a.rows(), b.cols());
  for (Index i = 0; i < a.rows(); ++i)
    for (Index k = 0; k < a.cols(); ++k)
      for (Index j = 0; j < b.cols(); ++j) out(i, j) += a(i, k) * b(k, j);
  return out;
}

PreciseMatrix transposed(const PreciseMatrix& a) {
  PreciseMatrix out(a.cols(), a.rows());
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.cols(); ++j) out(j, i) = a(i, j);
  return out;
}

}  // namespace gaussmith::testing
