#include "families/root_products.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr Index rows_per_chunk = 512;
/// Partial sums of a sparse adjoint: fixed, so that the result does not depend on the number of threads.
constexpr Index partial_sums = 4;

/// Accumulates (C h) for one sparse row and remembers which entries it touched.
class SparseAccumulator {
 public:
  explicit SparseAccumulator(Index rows) : value_(static_cast<std::size_t>(rows), 0.0), seen_(value_.size(), false) {}

  double& at(int row) {
    const auto r = static_cast<std::size_t>(row);
    if (!seen_[r]) {
      seen_[r] = true;
      touched_.push_back(row);
    }
    return value_[r];
  }
  [[nodiscard]] double value(int row) const { return value_[static_cast<std::size_t>(row)]; }
  [[nodiscard]] const std::vector<int>& touched() const { return touched_; }
  void clear() {
    for (const int row : touched_) {
      value_[static_cast<std::size_t>(row)] = 0.0;
      seen_[static_cast<std::size_t>(row)] = false;
    }
    touched_.clear();
  }

 private:
  std::vector<double> value_;
  std::vector<char> seen_;
  std::vector<int> touched_;
};

}  // namespace

void ProjectedRoot::add(double factor, const ProjectedRoot& other) {
  entries += factor * other.entries;
  if (panel.size() > 0) panel += factor * other.panel;
}

void ProjectedRoot::scale(double factor) {
  entries *= factor;
  panel *= factor;
}

RootProducts::RootProducts(const Design& design, const RootPattern& pattern, int threads)
    : pattern_(&pattern), threads_(threads) {
  if (const auto* dense = std::get_if<Matrix>(&design)) {
    dense_ = dense;
    rows_ = dense->rows();
  } else if (const auto* sparse = std::get_if<SparseMatrix>(&design)) {
    sparse_ = sparse;
  } else if (std::holds_alternative<Identity>(design)) {
    identity_.resize(pattern.columns, pattern.columns);
    identity_.setIdentity();
    sparse_ = &identity_;
  } else {
    throw InvalidModel("design: linear operators are not available yet");
  }
  if (sparse_) {
    rows_ = sparse_->rows();
    by_column_ = *sparse_;
  }
  has_diagonal_rows_ =
      std::find(pattern.diagonal_row.begin(), pattern.diagonal_row.end(), true) != pattern.diagonal_row.end();
}

void RootProducts::for_blocks(const std::function<void(const RootBlock&)>& body) const {
  const auto count = static_cast<Index>(pattern_->blocks.size());
  if (threads_ == 1 || count < 4 * threads_) {
    for (const RootBlock& at : pattern_->blocks) body(at);
    return;
  }
  const BlasThreads one_each(1);
  parallel_blocks(count, 1, threads_,
                  [&](Index begin, Index) { body(pattern_->blocks[static_cast<std::size_t>(begin)]); });
}

ProjectedRoot RootProducts::project(Vector entries) const {
  ProjectedRoot out;
  out.entries = std::move(entries);
  if (!dense_ || pattern_->panel_rows == 0) return out;
  out.panel.resize(rows_, pattern_->panel_rows);
  for_blocks([&](const RootBlock& at) {
    out.panel.middleCols(at.panel_begin, at.row_end - at.row_begin) = times_transposed(
        dense_->middleCols(at.column_begin, at.column_end - at.column_begin), pattern_->block(at, out.entries));
  });
  return out;
}

Matrix RootProducts::inner(const std::vector<const ProjectedRoot*>& roots) const {
  std::vector<Pair> pairs;
  for (std::size_t a = 0; a < roots.size(); ++a)
    for (std::size_t b = a; b < roots.size(); ++b) pairs.emplace_back(a, b);
  return inner(roots, pairs);
}

Matrix RootProducts::inner(const std::vector<const ProjectedRoot*>& roots, const std::vector<Pair>& pairs) const {
  const auto count_of_pairs = static_cast<Index>(pairs.size());
  Matrix out = Matrix::Zero(rows_, count_of_pairs);
  const RootPattern& p = *pattern_;
  const auto pair_at = [&](Index k) { return pairs[static_cast<std::size_t>(k)]; };
  if (dense_) {
    // Purely diagonal rows need only squares of the design.
    std::vector<Index> diagonal_columns;
    for (Index j = 0; j < p.columns; ++j)
      if (p.diagonal_row[static_cast<std::size_t>(p.rows - p.columns + j)]) diagonal_columns.push_back(j);
    parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
      const Index count = end - begin;
      Eigen::ArrayXd square(count);
      for (const Index j : diagonal_columns) {
        square = dense_->col(j).segment(begin, count).array().square();
        const Index e = p.diagonal(j);
        for (Index k = 0; k < count_of_pairs; ++k)
          out.col(k).segment(begin, count).array() +=
              (roots[pair_at(k).first]->entries(e) * roots[pair_at(k).second]->entries(e)) * square;
      }
      for (Index r = 0; r < p.panel_rows; ++r)
        for (Index k = 0; k < count_of_pairs; ++k)
          out.col(k).segment(begin, count).array() +=
              roots[pair_at(k).first]->panel.col(r).segment(begin, count).array() *
              roots[pair_at(k).second]->panel.col(r).segment(begin, count).array();
    });
    return out;
  }
  parallel_blocks(rows_, std::max<Index>(1, (rows_ + 15) / 16), threads_, [&](Index begin, Index end) {
    std::vector<SparseAccumulator> y(roots.size(), SparseAccumulator(p.rows));
    for (Index n = begin; n < end; ++n) {
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (Index e = p.start[static_cast<std::size_t>(it.col())]; e <= p.diagonal(it.col()); ++e)
          for (std::size_t a = 0; a < roots.size(); ++a)
            y[a].at(p.row[static_cast<std::size_t>(e)]) += it.value() * roots[a]->entries(e);
      for (Index k = 0; k < count_of_pairs; ++k) {
        const SparseAccumulator& first = y[pair_at(k).first];
        const SparseAccumulator& second = y[pair_at(k).second];
        double sum = 0.0;
        for (const int r : first.touched()) sum += first.value(r) * second.value(r);
        out(n, k) = sum;
      }
      for (auto& accumulator : y) accumulator.clear();
    }
  });
  return out;
}

Vector RootProducts::gather(const std::vector<WeightedRoot>& roots, Vector* column_squares) const {
  const RootPattern& p = *pattern_;
  Vector out = Vector::Zero(p.entries());
  if (dense_) {
    for_blocks([&](const RootBlock& at) {
      Matrix weighted = Matrix::Zero(rows_, at.row_end - at.row_begin);
      for (const WeightedRoot& w : roots)
        weighted += w.weight->asDiagonal() * w.root->panel.middleCols(at.panel_begin, weighted.cols());
      p.add_block(at, transposed_times(weighted, dense_->middleCols(at.column_begin, at.column_end - at.column_begin)),
                  out);
    });
    if (has_diagonal_rows_)
      for (const WeightedRoot& w : roots) {
        const Vector s = squares(*w.weight);
        for (Index j = 0; j < p.columns; ++j)
          if (p.diagonal_row[static_cast<std::size_t>(p.rows - p.columns + j)])
            out(p.diagonal(j)) += s(j) * w.root->entries(p.diagonal(j));
        if (column_squares && &w == roots.data()) *column_squares = s;
      }
    return out;
  }
  Matrix parts = Matrix::Zero(p.entries(), partial_sums);
  const Index block = std::max<Index>(1, (rows_ + partial_sums - 1) / partial_sums);
  parallel_blocks(rows_, block, threads_, [&](Index begin, Index end) {
    auto part = parts.col(begin / block);
    SparseAccumulator y(p.rows);
    for (Index n = begin; n < end; ++n) {
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (Index e = p.start[static_cast<std::size_t>(it.col())]; e <= p.diagonal(it.col()); ++e) {
          double sum = 0.0;
          for (const WeightedRoot& w : roots) sum += (*w.weight)(n)*w.root->entries(e);
          y.at(p.row[static_cast<std::size_t>(e)]) += it.value() * sum;
        }
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (Index e = p.start[static_cast<std::size_t>(it.col())]; e <= p.diagonal(it.col()); ++e)
          part(e) += it.value() * y.value(p.row[static_cast<std::size_t>(e)]);
      y.clear();
    }
  });
  for (Index b = 0; b < partial_sums; ++b) out += parts.col(b);
  return out;
}

Vector RootProducts::squares(const Vector& weight) const {
  Vector out = Vector::Zero(pattern_->columns);
  parallel_blocks(pattern_->columns, 64, threads_, [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) {
      if (dense_) {
        out(j) = (dense_->col(j).array().square() * weight.array()).sum();
      } else {
        double sum = 0.0;
        for (Eigen::SparseMatrix<double, Eigen::ColMajor>::InnerIterator it(by_column_, j); it; ++it)
          sum += weight(it.row()) * it.value() * it.value();
        out(j) = sum;
      }
    }
  });
  return out;
}

Matrix RootProducts::gram(const Vector& weight, Index begin, Index end) const {
  const Vector root = weight.cwiseSqrt();
  Matrix out = Matrix::Zero(end - begin, end - begin);
  if (dense_) {
    constexpr Index chunk = 4096;
    for (Index n = 0; n < rows_; n += chunk) {
      const Index count = std::min(chunk, rows_ - n);
      add_gram(1.0, root.segment(n, count).asDiagonal() * dense_->block(n, begin, count, end - begin), 1.0, out);
    }
    return out;
  }
  const Eigen::SparseMatrix<double, Eigen::ColMajor> scaled =
      root.asDiagonal() * by_column_.middleCols(begin, end - begin);
  const Eigen::SparseMatrix<double, Eigen::ColMajor> square = scaled.transpose() * scaled;
  return square;
}

}  // namespace gaussmith
