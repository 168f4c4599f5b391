#include "families/root_products.hpp"

#include "base/parallel_blocks.hpp"
#include "families/column_sums.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/blas_threads.hpp"
#include "linalg/dense.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr Index rows_per_chunk = 512;
constexpr Index columns_per_tile = 128;
/// A panel saves 2 x columns flops an entry and costs about five passes over memory: with fewer columns than this a
/// block is multiplied again wherever it is needed.
constexpr Index fewest_columns_for_panel = 256;
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
  for (Index j = 0; j < pattern.columns; ++j)
    if (pattern.diagonal_row[static_cast<std::size_t>(pattern.rows - pattern.columns + j)])
      diagonal_columns_.push_back(j);
  keeps_panel_ = dense_ && keeps_panel(pattern);
}

bool RootProducts::keeps_panel(const RootPattern& pattern) {
  Index area = 0;
  for (const RootBlock& at : pattern.blocks) area += (at.row_end - at.row_begin) * (at.column_end - at.column_begin);
  return pattern.panel_rows > 0 && area >= fewest_columns_for_panel * pattern.panel_rows;
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
  if (!keeps_panel_) return out;
  out.panel.resize(rows_, pattern_->panel_rows);
  const BlasThreads one_each(1);
  for (const RootBlock& at : pattern_->blocks) {
    const Matrix root = pattern_->block(at, out.entries);
    parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
      out.panel.block(begin, at.panel_begin, end - begin, root.rows()) =
          times_transposed(dense_->block(begin, at.column_begin, end - begin, root.cols()), root);
    });
  }
  return out;
}

std::vector<Matrix> RootProducts::stacked_blocks(const std::vector<const ProjectedRoot*>& roots) const {
  std::vector<Matrix> out;
  out.reserve(pattern_->blocks.size());
  for (const RootBlock& at : pattern_->blocks) {
    const Index height = at.row_end - at.row_begin;
    Matrix stacked(static_cast<Index>(roots.size()) * height, at.column_end - at.column_begin);
    for (std::size_t a = 0; a < roots.size(); ++a)
      stacked.middleRows(static_cast<Index>(a) * height, height) = pattern_->block(at, roots[a]->entries);
    out.push_back(std::move(stacked));
  }
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
    Matrix weight(static_cast<Index>(diagonal_columns_.size()), count_of_pairs);
    for (Index k = 0; k < count_of_pairs; ++k)
      for (Index j = 0; j < weight.rows(); ++j) {
        const Index e = p.diagonal(diagonal_columns_[static_cast<std::size_t>(j)]);
        weight(j, k) = roots[pair_at(k).first]->entries(e) * roots[pair_at(k).second]->entries(e);
      }
    const std::vector<Matrix> stacked = keeps_panel_ ? std::vector<Matrix>() : stacked_blocks(roots);
    const BlasThreads one_each(1);
    parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
      auto sums = out.middleRows(begin, end - begin);
      const auto rows = dense_->middleRows(begin, end - begin);
      add_weighted_squares(rows, diagonal_columns_, weight, sums);
      if (keeps_panel_) {
        for (Index k = 0; k < count_of_pairs; ++k)
          add_row_products(roots[pair_at(k).first]->panel.middleRows(begin, end - begin),
                           roots[pair_at(k).second]->panel.middleRows(begin, end - begin), sums.col(k));
        return;
      }
      for (std::size_t b = 0; b < p.blocks.size(); ++b) {
        const RootBlock& at = p.blocks[b];
        const Index height = at.row_end - at.row_begin;
        const Matrix panels =
            times_transposed(rows.middleCols(at.column_begin, at.column_end - at.column_begin), stacked[b]);
        const auto panel = [&](std::size_t root) {
          return panels.middleCols(static_cast<Index>(root) * height, height);
        };
        for (Index k = 0; k < count_of_pairs; ++k)
          add_row_products(panel(pair_at(k).first), panel(pair_at(k).second), sums.col(k));
      }
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

void RootProducts::gather_panels(const std::vector<WeightedRoot>& roots, Vector& out) const {
  const BlasThreads one_each(1);
  Matrix weighted = Matrix::Zero(rows_, pattern_->panel_rows);
  parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
    for (const WeightedRoot& w : roots)
      weighted.middleRows(begin, end - begin) +=
          w.weight->segment(begin, end - begin).asDiagonal() * w.root->panel.middleRows(begin, end - begin);
  });
  for (const RootBlock& at : pattern_->blocks)
    parallel_blocks(at.column_end - at.column_begin, columns_per_tile, threads_, [&](Index begin, Index end) {
      RootBlock tile = at;
      tile.column_begin = at.column_begin + begin;
      tile.column_end = at.column_begin + end;
      pattern_->add_block(tile,
                          transposed_times(weighted.middleCols(at.panel_begin, at.row_end - at.row_begin),
                                           dense_->middleCols(tile.column_begin, end - begin)),
                          out);
    });
}

Vector RootProducts::gather(const std::vector<WeightedRoot>& roots, Vector* column_squares) const {
  const RootPattern& p = *pattern_;
  Vector out = Vector::Zero(p.entries());
  if (dense_) {
    if (keeps_panel_)
      gather_panels(roots, out);
    else
      for_blocks([&](const RootBlock& at) {
        const auto columns = dense_->middleCols(at.column_begin, at.column_end - at.column_begin);
        Matrix weighted = Matrix::Zero(rows_, at.row_end - at.row_begin);
        for (const WeightedRoot& w : roots)
          weighted += w.weight->asDiagonal() * times_transposed(columns, p.block(at, w.root->entries));
        p.add_block(at, transposed_times(weighted, columns), out);
      });
    if (!diagonal_columns_.empty())
      for (const WeightedRoot& w : roots) {
        const Vector s = squares(*w.weight);
        for (const Index j : diagonal_columns_) out(p.diagonal(j)) += s(j) * w.root->entries(p.diagonal(j));
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
        out(j) = weighted_square(dense_->col(j), weight);
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
    Matrix scaled;
    for (Index n = 0; n < rows_; n += rows_per_chunk) {
      const Index count = std::min(rows_per_chunk, rows_ - n);
      scaled.noalias() = root.segment(n, count).asDiagonal() * dense_->block(n, begin, count, end - begin);
      add_gram(1.0, scaled, 1.0, out);
    }
    return out;
  }
  const Eigen::SparseMatrix<double, Eigen::ColMajor> scaled =
      root.asDiagonal() * by_column_.middleCols(begin, end - begin);
  const Eigen::SparseMatrix<double, Eigen::ColMajor> square = scaled.transpose() * scaled;
  return square;
}

}  // namespace gaussmith
