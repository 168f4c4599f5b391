#include "families/root_pattern.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

/// The off-diagonal rows of one column, ascending.
void upper_rows(const CovarianceFamily& family, Index column, std::vector<int>& out) {
  const auto fill = [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) out.push_back(static_cast<int>(i));
  };
  switch (family.kind) {
    case FamilyKind::full:
      fill(0, column);
      break;
    case FamilyKind::banded:
      fill(std::max<Index>(0, column - family.size), column);
      break;
    case FamilyKind::chevron:
      fill(0, std::min(column, family.size));
      break;
    case FamilyKind::factor:
      fill(0, family.size);
      break;
    case FamilyKind::subspace:
      fill(0, column == family.size ? 0 : column);
      break;
    case FamilyKind::diagonal:
    case FamilyKind::sparse:
      break;
  }
}

void find_blocks(RootPattern& p, Index most_rows) {
  const auto size = static_cast<std::size_t>(p.rows);
  std::vector<Index> first(size, p.columns);
  std::vector<Index> last(size, -1);
  std::vector<Index> count(size, 0);
  for (Index j = 0; j < p.columns; ++j)
    for (Index e = p.start[static_cast<std::size_t>(j)]; e <= p.diagonal(j); ++e) {
      const auto r = static_cast<std::size_t>(p.row[static_cast<std::size_t>(e)]);
      first[r] = std::min(first[r], j);
      last[r] = std::max(last[r], j);
      ++count[r];
    }
  p.diagonal_row.assign(size, false);
  for (std::size_t r = 0; r < size; ++r)
    p.diagonal_row[r] = count[r] == 1 && p.diagonal_column(static_cast<Index>(r)) >= 0;
  for (Index r = 0; r < p.rows; ++r) {
    const auto k = static_cast<std::size_t>(r);
    if (p.diagonal_row[k] || count[k] == 0) continue;
    const bool extends = !p.blocks.empty() && p.blocks.back().row_end == r && r - p.blocks.back().row_begin < most_rows;
    if (!extends) p.blocks.push_back({r, r, first[k], last[k] + 1, p.panel_rows});
    RootBlock& block = p.blocks.back();
    block.row_end = r + 1;
    block.column_begin = std::min(block.column_begin, first[k]);
    block.column_end = std::max(block.column_end, last[k] + 1);
    ++p.panel_rows;
  }
}

}  // namespace

Index rows_per_block(const CovarianceFamily& family) {
  if (family.kind == FamilyKind::banded) return std::clamp<Index>(2 * family.size / 3, 8, 64);
  return 64;
}

RootPattern make_pattern(const CovarianceFamily& family, Index dimension) {
  RootPattern p;
  p.columns = family.kind == FamilyKind::subspace ? family.size + 1 : dimension;
  p.triangular = family.kind != FamilyKind::factor;
  p.rows = p.columns + (p.triangular ? 0 : family.size);
  std::vector<std::vector<int>> listed;
  if (family.kind == FamilyKind::sparse) {
    listed.resize(static_cast<std::size_t>(dimension));
    for (const auto& [i, j] : family.entries)
      if (i < j) listed[static_cast<std::size_t>(j)].push_back(i);
  }
  p.start.push_back(0);
  for (Index j = 0; j < p.columns; ++j) {
    if (listed.empty()) {
      upper_rows(family, j, p.row);
    } else {
      auto& rows = listed[static_cast<std::size_t>(j)];
      std::sort(rows.begin(), rows.end());
      rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
      p.row.insert(p.row.end(), rows.begin(), rows.end());
    }
    p.row.push_back(static_cast<int>(p.rows - p.columns + j));
    p.start.push_back(static_cast<Index>(p.row.size()));
  }
  find_blocks(p, rows_per_block(family));
  return p;
}

Matrix RootPattern::block(const RootBlock& at, const Vector& values) const {
  Matrix out = Matrix::Zero(at.row_end - at.row_begin, at.column_end - at.column_begin);
  for (Index j = at.column_begin; j < at.column_end; ++j) {
    const auto begin = row.begin() + start[static_cast<std::size_t>(j)];
    const auto end = row.begin() + start[static_cast<std::size_t>(j) + 1];
    for (auto it = std::lower_bound(begin, end, static_cast<int>(at.row_begin)); it != end && *it < at.row_end; ++it)
      out(*it - at.row_begin, j - at.column_begin) = values(it - row.begin());
  }
  return out;
}

void RootPattern::add_block(const RootBlock& at, const Matrix& dense, Vector& values) const {
  for (Index j = at.column_begin; j < at.column_end; ++j) {
    const auto begin = row.begin() + start[static_cast<std::size_t>(j)];
    const auto end = row.begin() + start[static_cast<std::size_t>(j) + 1];
    for (auto it = std::lower_bound(begin, end, static_cast<int>(at.row_begin)); it != end && *it < at.row_end; ++it)
      values(it - row.begin()) += dense(*it - at.row_begin, j - at.column_begin);
  }
}

SparseMatrix RootPattern::matrix(const Vector& values) const {
  Eigen::SparseMatrix<double, Eigen::ColMajor> by_column(rows, columns);
  Eigen::VectorXi counts(columns);
  for (Index j = 0; j < columns; ++j)
    counts(j) = static_cast<int>(start[static_cast<std::size_t>(j) + 1] - start[static_cast<std::size_t>(j)]);
  by_column.reserve(counts);
  for (Index j = 0; j < columns; ++j)
    for (Index e = start[static_cast<std::size_t>(j)]; e <= diagonal(j); ++e)
      by_column.insert(row[static_cast<std::size_t>(e)], j) = values(e);
  SparseMatrix out = by_column;
  out.makeCompressed();
  return out;
}

}  // namespace gaussmith
