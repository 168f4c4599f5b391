#include "families/root_products.hpp"

#include "base/parallel_blocks.hpp"
#include "gaussmith/errors.hpp"
#include "linalg/column_sums.hpp"
#include "linalg/dense.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr Index rows_per_chunk = 512;
constexpr Index columns_per_tile = 128;
/// Partial sums of a sparse adjoint: fixed, so that the result does not depend on the number of threads.
constexpr Index partial_sums = 4;

/// Columns of a sparse design are met in no order: without this most of the time goes into waiting for their entries.
void fetch([[maybe_unused]] const double* from, [[maybe_unused]] Index count) {
#if defined(__GNUC__)
  constexpr Index doubles_per_line = 8;
  for (Index i = 0; i < count; i += doubles_per_line) __builtin_prefetch(from + i);
  __builtin_prefetch(from + count - 1);
#endif
}

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
    : design_(design.sized(pattern.columns).in_double()), pattern_(&pattern), threads_(threads) {
  const DesignEntries stored = design_.entries();
  dense_ = stored.dense;
  sparse_ = stored.sparse;
  rows_ = design_.rows();
  if (stored.identity) {
    identity_.resize(pattern.columns, pattern.columns);
    identity_.setIdentity();
    sparse_ = &identity_;
  }
  if (!dense_ && !sparse_) throw InvalidModel("the design has no entries for products with covariance roots");
  for (Index j = 0; j < pattern.columns; ++j)
    if (pattern.diagonal_row[static_cast<std::size_t>(pattern.rows - pattern.columns + j)])
      diagonal_columns_.push_back(j);
  keeps_panel_ = dense_ && keeps_panel(pattern);
  if (sparse_) find_runs();
}

void RootProducts::find_runs() {
  const RootPattern& p = *pattern_;
  run_start_.assign(1, 0);
  for (Index j = 0; j < p.columns; ++j) {
    bool extends = false;
    for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
      const int r = p.row[static_cast<std::size_t>(e)];
      if (p.diagonal_row[static_cast<std::size_t>(r)]) continue;
      extends = extends && runs_.back().row + runs_.back().length == r;
      if (extends)
        ++runs_.back().length;
      else
        runs_.push_back({r, e, 1});
      extends = true;
    }
    run_start_.push_back(static_cast<Index>(runs_.size()));
  }
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
  parallel_blocks(count, 1, threads_,
                  [&](Index begin, Index) { body(pattern_->blocks[static_cast<std::size_t>(begin)]); });
}

ProjectedRoot RootProducts::project(Vector entries) const {
  ProjectedRoot out;
  out.entries = std::move(entries);
  if (!keeps_panel_) return out;
  out.panel.resize(rows_, pattern_->panel_rows);
  for (const RootBlock& at : pattern_->blocks) {
    const Matrix root = pattern_->block(at, out.entries);
    parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
      set_times_transposed(dense_->block(begin, at.column_begin, end - begin, root.cols()), root,
                           out.panel.block(begin, at.panel_begin, end - begin, root.rows()));
    });
  }
  return out;
}

void RootProducts::fetch_column(Index column, const Eigen::Ref<const Vector>& entries) const {
  const Index first = pattern_->start[static_cast<std::size_t>(column)];
  fetch(entries.data() + first, pattern_->diagonal(column) + 1 - first);
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
    Index tallest = 0;
    for (const Matrix& block : stacked) tallest = std::max(tallest, block.rows());
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
      Matrix scratch(end - begin, tallest);  // One for all blocks: large allocations in several threads are slow.
      for (std::size_t b = 0; b < p.blocks.size(); ++b) {
        const RootBlock& at = p.blocks[b];
        const Index height = at.row_end - at.row_begin;
        auto panels = scratch.leftCols(stacked[b].rows());
        set_times_transposed(rows.middleCols(at.column_begin, at.column_end - at.column_begin), stacked[b], panels);
        const auto panel = [&](std::size_t root) {
          return panels.middleCols(static_cast<Index>(root) * height, height);
        };
        for (Index k = 0; k < count_of_pairs; ++k)
          add_row_products(panel(pair_at(k).first), panel(pair_at(k).second), sums.col(k));
      }
    });
    return out;
  }
  // y_a = C_a h, zero between rows: what a run of entries holds is used and cleared at the first visit, so that rows of
  // C met by several entries of h count once.
  parallel_blocks(rows_, std::max<Index>(1, (rows_ + 15) / 16), threads_, [&](Index begin, Index end) {
    Matrix y = Matrix::Zero(p.rows, static_cast<Index>(roots.size()));
    for (Index n = begin; n < end; ++n) {
      if (n + 1 < end)
        for (SparseMatrix::InnerIterator it(*sparse_, n + 1); it; ++it)
          for (const ProjectedRoot* root : roots) fetch_column(it.col(), root->entries);
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it) {
        for (const Run& run : runs(it.col()))
          for (std::size_t a = 0; a < roots.size(); ++a)
            y.col(static_cast<Index>(a)).segment(run.row, run.length) +=
                it.value() * roots[a]->entries.segment(run.entry, run.length);
        const Index e = p.diagonal(it.col());
        if (!p.diagonal_row[static_cast<std::size_t>(p.row[static_cast<std::size_t>(e)])]) continue;
        const double square = it.value() * it.value();
        for (Index k = 0; k < count_of_pairs; ++k)
          out(n, k) += square * roots[pair_at(k).first]->entries(e) * roots[pair_at(k).second]->entries(e);
      }
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (const Run& run : runs(it.col())) {
          auto rows = y.middleRows(run.row, run.length);
          for (Index k = 0; k < count_of_pairs; ++k)
            out(n, k) +=
                rows.col(static_cast<Index>(pair_at(k).first)).dot(rows.col(static_cast<Index>(pair_at(k).second)));
          rows.setZero();
        }
    }
  });
  return out;
}

void RootProducts::gather_panels(const std::vector<WeightedRoot>& roots, Vector& out) const {
  Matrix weighted(rows_, pattern_->panel_rows);
  parallel_blocks(rows_, rows_per_chunk, threads_, [&](Index begin, Index end) {
    const auto scaled = [&](const WeightedRoot& w) {
      return w.weight->segment(begin, end - begin).asDiagonal() * w.root->panel.middleRows(begin, end - begin);
    };
    auto rows = weighted.middleRows(begin, end - begin);
    rows = scaled(roots.front());
    for (std::size_t a = 1; a < roots.size(); ++a) rows += scaled(roots[a]);
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
        Matrix weighted(rows_, at.row_end - at.row_begin);
        set_times_transposed(columns, p.block(at, roots.front().root->entries), weighted);
        weighted.array().colwise() *= roots.front().weight->array();
        for (std::size_t a = 1; a < roots.size(); ++a)
          weighted += roots[a].weight->asDiagonal() * times_transposed(columns, p.block(at, roots[a].root->entries));
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
    Eigen::Ref<Vector> part = parts.col(begin / block);
    Vector y = Vector::Zero(p.rows);
    for (Index n = begin; n < end; ++n) {
      if (n + 1 < end)
        for (SparseMatrix::InnerIterator it(*sparse_, n + 1); it; ++it) {
          fetch_column(it.col(), part);
          for (const WeightedRoot& w : roots) fetch_column(it.col(), w.root->entries);
        }
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (const WeightedRoot& w : roots) {
          const double factor = (*w.weight)(n)*it.value();
          for (const Run& run : runs(it.col()))
            y.segment(run.row, run.length) += factor * w.root->entries.segment(run.entry, run.length);
          const Index e = p.diagonal(it.col());
          if (p.diagonal_row[static_cast<std::size_t>(p.row[static_cast<std::size_t>(e)])])
            part(e) += factor * it.value() * w.root->entries(e);
        }
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (const Run& run : runs(it.col()))
          part.segment(run.entry, run.length) += it.value() * y.segment(run.row, run.length);
      for (SparseMatrix::InnerIterator it(*sparse_, n); it; ++it)
        for (const Run& run : runs(it.col())) y.segment(run.row, run.length).setZero();
    }
  });
  for (Index b = 0; b < partial_sums; ++b) out += parts.col(b);
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
  if (begin == 0 && end == pattern_->columns) return design_.gram(weight, threads_);
  std::call_once(once_by_column_, [&] { by_column_ = *sparse_; });
  const Eigen::SparseMatrix<double, Eigen::ColMajor> scaled =
      root.asDiagonal() * by_column_.middleCols(begin, end - begin);
  const Eigen::SparseMatrix<double, Eigen::ColMajor> square = scaled.transpose() * scaled;
  return square;
}

}  // namespace gaussmith
