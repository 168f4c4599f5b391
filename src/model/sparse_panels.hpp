#pragma once
// Products of compressed sparse rows with blocks of vectors. Vectors are taken eight at a time, side by side in memory,
// so that an entry of the matrix is read once for eight multiplications that one instruction or two do
// (panel_kernels.hpp). Sums over rows are made in parts whose number depends on the matrix alone, so that they do not
// depend on the number of threads.

#include "base/parallel_blocks.hpp"
#include "gaussmith/types.hpp"
#include "linalg/dense.hpp"
#include "model/panel_kernels.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace gaussmith {

/// Where to cut the rows into parts of about as many entries: parts + 1 numbers from 0 to all rows.
template <class Sparse>
std::vector<Index> row_cuts(const Sparse& h, Index parts) {
  std::vector<Index> cuts{0};
  const auto* const begin = h.outerIndexPtr();
  for (Index part = 1; part < parts; ++part) {
    const auto goal = static_cast<typename Sparse::StorageIndex>(h.nonZeros() * part / parts);
    cuts.push_back(std::max<Index>(cuts.back(), std::lower_bound(begin, begin + h.rows(), goal) - begin));
  }
  cuts.push_back(h.rows());
  return cuts;
}

class SparsePanels {
 public:
  static constexpr Index width = panel_width;
  using Panel = Eigen::Array<double, width, Eigen::Dynamic>;  // One column a row of the block.

  /// Columns [first, first + width) of x, the missing ones zero.
  static void pack(ConstMatrixView x, Index first, Panel& panel) {
    panel.resize(width, x.rows());
    const Index count = std::min(width, x.cols() - first);
    if (count < width) panel.setZero();
    for (Index i = 0; i < x.rows(); ++i)
      for (Index k = 0; k < count; ++k) panel(k, i) = x(i, first + k);
  }
  static void unpack(const Panel& panel, Index first, MatrixView out) {
    const Index count = std::min(width, out.cols() - first);
    for (Index i = 0; i < out.rows(); ++i)
      for (Index k = 0; k < count; ++k) out(i, first + k) = panel(k, i);
  }

  /// The sum over rows of what add(begin, end, sum) adds to D panel columns, into the first of the partial sums.
  template <class Sparse, class Add>
  static Panel& sum_over_rows(const Sparse& h, int threads, const Add& add, std::vector<Panel>& sums) {
    const auto used = static_cast<Index>(sums.size());
    const Index columns = h.cols();
    const std::vector<Index> cuts = row_cuts(h, used);
    parallel_blocks(used, 1, threads, [&](Index part, Index /*end*/) {
      const auto at = static_cast<std::size_t>(part);
      sums[at].setZero(width, columns);
      add(cuts[at], cuts[at + 1], sums[at].data());
    });
    Panel& out = sums.front();
    constexpr Index columns_at_once = 8192;
    if (used > 1)
      parallel_blocks(columns, columns_at_once, threads, [&](Index begin, Index end) {
        for (Index p = 1; p < used; ++p)
          out.middleCols(begin, end - begin) += sums[static_cast<std::size_t>(p)].middleCols(begin, end - begin);
      });
    return out;
  }

  /// Partial sums over rows, such that clearing and adding them costs less than the products.
  template <class Sparse>
  static std::vector<Panel> partial_sums(const Sparse& h) {
    constexpr Index most_parts = 8;
    const Index worth = h.nonZeros() / std::max<Index>(Index{1} << 14, 4 * h.cols());
    // A power of two, so that as many threads have the same to do.
    return std::vector<Panel>(std::bit_floor(static_cast<std::size_t>(std::clamp<Index>(worth, 1, most_parts))));
  }
};

/// out := H X.
template <class Sparse>
void panel_times(const Sparse& h, ConstMatrixView x, MatrixView out, int threads) {
  constexpr Index rows_at_once = 512;
  SparsePanels::Panel panel;
  SparsePanels::Panel result(SparsePanels::width, h.rows());
  for (Index first = 0; first < x.cols(); first += SparsePanels::width) {
    SparsePanels::pack(x, first, panel);
    parallel_blocks(h.rows(), rows_at_once, threads, [&](Index begin, Index end) {
      panel_rows_times(rows_view(h), begin, end, panel.data(), result.data() + SparsePanels::width * begin);
    });
    SparsePanels::unpack(result, first, out);
  }
}

/// out := H'X.
template <class Sparse>
void panel_transposed_times(const Sparse& h, ConstMatrixView x, MatrixView out, int threads) {
  SparsePanels::Panel panel;
  std::vector<SparsePanels::Panel> sums = SparsePanels::partial_sums(h);
  for (Index first = 0; first < x.cols(); first += SparsePanels::width) {
    SparsePanels::pack(x, first, panel);
    const SparsePanels::Panel& result = SparsePanels::sum_over_rows(
        h, threads,
        [&](Index begin, Index end, double* sum) {
          add_panel_transposed(rows_view(h), begin, end, panel.data() + SparsePanels::width * begin, sum);
        },
        sums);
    SparsePanels::unpack(result, first, out);
  }
}

/// out := H'diag(weights) H X, rows read once from memory for both products. Those of weight zero count nothing,
/// whatever X is.
template <class Sparse>
void panel_gram_times(const Sparse& h, const Vector& weights, ConstMatrixView x, MatrixView out, int threads) {
  constexpr Index rows_at_once = 64;
  SparsePanels::Panel panel;
  std::vector<SparsePanels::Panel> sums = SparsePanels::partial_sums(h);
  for (Index first = 0; first < x.cols(); first += SparsePanels::width) {
    SparsePanels::pack(x, first, panel);
    const SparsePanels::Panel& result = SparsePanels::sum_over_rows(
        h, threads,
        [&](Index begin, Index end, double* sum) {
          Eigen::Array<double, SparsePanels::width, rows_at_once> products;
          for (Index from = begin; from < end; from += rows_at_once) {
            const Index to = std::min(from + rows_at_once, end);
            panel_rows_times(rows_view(h), from, to, panel.data(), products.data());
            for (Index n = from; n < to; ++n) {
              if (weights(n) == 0.0)
                products.col(n - from).setZero();
              else
                products.col(n - from) *= weights(n);
            }
            add_panel_transposed(rows_view(h), from, to, products.data(), sum);
          }
        },
        sums);
    SparsePanels::unpack(result, first, out);
  }
}

}  // namespace gaussmith
