#include "measurement/weight_rows.hpp"

#include "base/parallel_blocks.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"
#include "linalg/sparse_square.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gaussmith {

namespace {

/// From this share of the weights on, a row is dense: BLAS takes D^2 multiplications faster than L^2 / 2 scattered
/// ones.
constexpr double dense_share = 0.125;
constexpr Index rows_at_once = 256;
constexpr Index columns_at_once = 32;
/// What a product with a scattered entry takes.
constexpr double flops_a_pair = 8.0;
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
  sort_by_columns();
}

void WeightRows::sort_by_columns() {
  const auto* const ends = light_.outerIndexPtr() + 1;
  const auto* const columns = light_.innerIndexPtr();
  starts_.assign(static_cast<std::size_t>(light_.cols()) + 1, 0);
  for (Index at = 0; at < light_.nonZeros(); ++at) ++starts_[static_cast<std::size_t>(columns[at]) + 1];
  std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
  by_column_.resize(static_cast<std::size_t>(light_.nonZeros()));
  std::vector<Index> next = starts_;
  Index at = 0;
  for (Index i = 0; i < light_.rows(); ++i)
    for (; at < ends[i]; ++at) {
      by_column_[static_cast<std::size_t>(next[static_cast<std::size_t>(columns[at])]++)] = {i, at, ends[i]};
      pairs_ += static_cast<double>(ends[i] - at);
    }
}

void WeightRows::add_gram(const Vector& weights, Matrix& a) const {
  const double* const values = light_.valuePtr();
  const auto* const columns = light_.innerIndexPtr();
  // A column of `a` stays in cache, and is one thread's.
  parallel_blocks(a.cols(), columns_at_once, threads_for(flops_a_pair * pairs_), [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) {
      double* const column = a.data() + j * a.rows();
      const auto last = static_cast<std::size_t>(starts_[static_cast<std::size_t>(j) + 1]);
      for (auto e = static_cast<std::size_t>(starts_[static_cast<std::size_t>(j)]); e < last; ++e) {
        const Entry& entry = by_column_[e];
        const double scaled = weights(entry.row) * values[entry.at];
        for (Index k = entry.at; k < entry.end; ++k) column[columns[k]] += scaled * values[k];
      }
    }
  });
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

Vector WeightRows::squares(const Matrix& covariance_lower) const {
  Vector out(light_.rows());
  parallel_blocks(out.size(), rows_at_once, threads_, [&](Index begin, Index end) {
    for (Index n = begin; n < end; ++n) out(n) = sparse_square(light_, n, covariance_lower);
  });
  for (Index begin = 0; begin < heavy_.cols(); begin += heavy_at_once) {
    const Index count = std::min(heavy_at_once, heavy_.cols() - begin);
    const Matrix block = heavy_.middleCols(begin, count);
    const Vector squares = block.cwiseProduct(symmetric_times(covariance_lower, block)).colwise().sum().transpose();
    for (Index k = 0; k < count; ++k) out(which_[static_cast<std::size_t>(begin + k)]) = squares(k);
  }
  return out;
}

}  // namespace gaussmith
