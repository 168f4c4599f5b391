#include "measurement/weight_rows.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/dense.hpp"
#include "linalg/sparse_square.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// From this share of the weights on, a row is dense: BLAS takes D^2 multiplications faster than L^2 / 2 scattered
/// ones.
constexpr double dense_share = 0.125;
constexpr Index rows_at_once = 256;
/// Dense rows go through in blocks, so that what is made of them stays small beside D x D.
constexpr Index heavy_at_once = 512;

/// The rows with entries, where these are few.
SparseMatrix light_rows(const Design& design, double most, std::vector<Index>& heavy) {
  const Design in_double = design.in_double();
  const Index n = design.rows();
  SparseMatrix out(n, design.cols());
  const DesignEntries stored = in_double.entries();
  if (stored.dense != nullptr) {
    for (Index i = 0; i < n; ++i) heavy.push_back(i);
    return out;
  }
  for (Index i = 0; i < n; ++i) {
    out.startVec(i);
    if (stored.identity) {
      out.insertBack(i, i) = 1.0;
      continue;
    }
    const SparseMatrix& rows = *stored.sparse;
    if (static_cast<double>(rows.outerIndexPtr()[i + 1] - rows.outerIndexPtr()[i]) > most) {
      heavy.push_back(i);
      continue;
    }
    for (SparseMatrix::InnerIterator entry(rows, i); entry; ++entry) out.insertBack(i, entry.col()) = entry.value();
  }
  out.finalize();
  return out;
}

}  // namespace

WeightRows::WeightRows(const Design& design, int threads) : design_(design), threads_(threads) {
  const double most = std::max(1.0, dense_share * static_cast<double>(design.cols()));
  light_ = light_rows(design, most, which_);
  heavy_.resize(design.cols(), static_cast<Index>(which_.size()));
  for (std::size_t k = 0; k < which_.size(); ++k)
    heavy_.col(static_cast<Index>(k)) = design.transposed_rows(which_[k], which_[k] + 1);
  single_ = which_.empty();
  for (Index i = 0; i < light_.rows() && single_; ++i)
    single_ = light_.outerIndexPtr()[i + 1] - light_.outerIndexPtr()[i] <= 1;
}

void WeightRows::add_gram(const Vector& weights, Matrix& a) const {
  for (Index i = 0; i < light_.rows(); ++i) {
    for (SparseMatrix::InnerIterator j(light_, i); j; ++j) {
      double* const column = a.data() + j.col() * a.rows();
      const double scaled = weights(i) * j.value();
      for (SparseMatrix::InnerIterator k = j; k; ++k) column[k.col()] += scaled * k.value();
    }
  }
  // DSYRK knows one sign a call.
  for (const double sign : {1.0, -1.0}) {
    std::vector<Index> of_sign;
    for (std::size_t k = 0; k < which_.size(); ++k)
      if (sign * weights(which_[k]) > 0.0) of_sign.push_back(static_cast<Index>(k));
    const auto count = static_cast<Index>(of_sign.size());
    for (Index begin = 0; begin < count; begin += heavy_at_once) {
      const Index end = std::min(count, begin + heavy_at_once);
      Matrix scaled(heavy_.rows(), end - begin);
      for (Index c = begin; c < end; ++c) {
        const Index k = of_sign[static_cast<std::size_t>(c)];
        scaled.col(c - begin) = std::sqrt(sign * weights(which_[static_cast<std::size_t>(k)])) * heavy_.col(k);
      }
      add_outer(sign, scaled, 1.0, a);
    }
  }
}

Vector WeightRows::squares(const Matrix& covariance) const {
  Vector out(light_.rows());
  parallel_blocks(out.size(), rows_at_once, threads_, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) out(n) = sparse_square(light_, n, covariance);
  });
  for (Index begin = 0; begin < heavy_.cols(); begin += heavy_at_once) {
    const Index count = std::min(heavy_at_once, heavy_.cols() - begin);
    const auto block = heavy_.middleCols(begin, count);
    const Vector squares = block.cwiseProduct(times(covariance, block)).colwise().sum().transpose();
    for (Index k = 0; k < count; ++k) out(which_[static_cast<std::size_t>(begin + k)]) = squares(k);
  }
  return out;
}

}  // namespace gaussmith
