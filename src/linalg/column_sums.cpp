#include "linalg/column_sums.hpp"

#include "base/vectorised.hpp"

#include <array>

namespace gaussmith {

namespace {

/// Columns a pass: the sums are loaded and stored that much less often.
constexpr std::size_t together = 4;
using Columns = std::array<const double*, together>;
using Weights = std::array<double, together>;

// Raw pointers: the compiler vectorises these loops only when it sees plain arrays that do not overlap.

GAUSSMITH_INLINE double square_sum(const Columns& x, const Weights& w, Index i) {
  return (w[0] * (x[0][i] * x[0][i]) + w[1] * (x[1][i] * x[1][i])) +
         (w[2] * (x[2][i] * x[2][i]) + w[3] * (x[3][i] * x[3][i]));
}

GAUSSMITH_VECTORISED
void add_squares_once(Columns x, Weights w, Index rows, double* __restrict out) {
  for (Index i = 0; i < rows; ++i) out[i] += square_sum(x, w, i);
}

GAUSSMITH_VECTORISED
void add_squares_thrice(Columns x, Weights u, Weights v, Weights w, Index rows, double* __restrict first,
                        double* __restrict second, double* __restrict third) {
  for (Index i = 0; i < rows; ++i) {
    first[i] += square_sum(x, u, i);
    second[i] += square_sum(x, v, i);
    third[i] += square_sum(x, w, i);
  }
}

GAUSSMITH_VECTORISED
void add_products(Columns a, Columns b, Index rows, double* __restrict out) {
  for (Index i = 0; i < rows; ++i)
    out[i] += (a[0][i] * b[0][i] + a[1][i] * b[1][i]) + (a[2][i] * b[2][i] + a[3][i] * b[3][i]);
}

GAUSSMITH_VECTORISED
double weighted_square_sum(const double* x, const double* weight, Index count) {
  // Independent partial sums: without them IEEE order would forbid vector additions.
  constexpr Index lanes = 16;
  double partial[lanes] = {};
  Index i = 0;
  for (; i + lanes <= count; i += lanes)
    for (Index k = 0; k < lanes; ++k) partial[k] += weight[i + k] * (x[i + k] * x[i + k]);
  double sum = 0.0;
  for (; i < count; ++i) sum += weight[i] * (x[i] * x[i]);
  for (Index k = 0; k < lanes; ++k) sum += partial[k];
  return sum;
}

}  // namespace

void add_weighted_squares(const Eigen::Ref<const Matrix>& x, const std::vector<Index>& columns, const Matrix& weight,
                          Eigen::Ref<Matrix> out) {
  for (std::size_t j = 0; j < columns.size(); j += together) {
    // Missing columns of the last pass: the first one with weight zero.
    Columns x_columns;
    const std::size_t there = std::min(together, columns.size() - j);
    for (std::size_t c = 0; c < together; ++c) x_columns[c] = x.col(columns[j + (c < there ? c : 0)]).data();
    const auto weights = [&](Index k) {
      Weights w = {};
      for (std::size_t c = 0; c < there; ++c) w[c] = weight(static_cast<Index>(j + c), k);
      return w;
    };
    Index k = 0;
    for (; k + 3 <= out.cols(); k += 3)
      add_squares_thrice(x_columns, weights(k), weights(k + 1), weights(k + 2), out.rows(), out.col(k).data(),
                         out.col(k + 1).data(), out.col(k + 2).data());
    for (; k < out.cols(); ++k) add_squares_once(x_columns, weights(k), out.rows(), out.col(k).data());
  }
}

void add_row_products(const Eigen::Ref<const Matrix>& a, const Eigen::Ref<const Matrix>& b, Eigen::Ref<Vector> out) {
  Index c = 0;
  const auto four = [&](const Eigen::Ref<const Matrix>& m) {
    return Columns{m.col(c).data(), m.col(c + 1).data(), m.col(c + 2).data(), m.col(c + 3).data()};
  };
  for (; c + static_cast<Index>(together) <= a.cols(); c += static_cast<Index>(together))
    add_products(four(a), four(b), out.size(), out.data());
  for (; c < a.cols(); ++c) out.array() += a.col(c).array() * b.col(c).array();
}

double weighted_square(const Eigen::Ref<const Vector>& x, const Eigen::Ref<const Vector>& weight) {
  return weighted_square_sum(x.data(), weight.data(), x.size());
}

}  // namespace gaussmith
