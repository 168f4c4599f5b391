#pragma once
// Products of a design with covariance roots: C h_n for every row h_n, their inner products, and the adjoint. Dense
// designs go through matrix products on blocks of the root. Where the blocks are wide (chevrons) they keep a panel of
// N x (rows that are not purely diagonal); narrow ones (bands) are multiplied again, which costs no more than the
// memory traffic of a panel of N x D. Sparse designs go row by row and keep nothing. Cost: N D K dense, N L K sparse
// with L entries a row of the design and K entries a column of the root.

#include "families/root_pattern.hpp"

#include <functional>
#include <mutex>
#include <span>

namespace gaussmith {

/// A root with its products C h_n (panel rows only, where a panel is kept). Linear: combinations of roots are
/// combinations of both members.
struct ProjectedRoot {
  Vector entries;
  Matrix panel;

  void add(double factor, const ProjectedRoot& other);
  void scale(double factor);
};

struct WeightedRoot {
  const ProjectedRoot* root;
  const Vector* weight;  ///< One number a row of the design.
};

class RootProducts {
 public:
  /// The pattern must outlive the object; its columns are the design's.
  RootProducts(const Design& design, const RootPattern& pattern, int threads);

  [[nodiscard]] Index rows() const { return rows_; }
  /// Calls body for every block of the pattern: several at a time with one BLAS thread each where there are many
  /// blocks, otherwise one after the other with all threads. A body writes only what belongs to its block.
  void for_blocks(const std::function<void(const RootBlock&)>& body) const;
  [[nodiscard]] const RootPattern& pattern() const { return *pattern_; }

  /// Whether roots of this pattern keep a panel when the design is dense.
  [[nodiscard]] static bool keeps_panel(const RootPattern& pattern);

  [[nodiscard]] ProjectedRoot project(Vector entries) const;

  /// N x pairs: (C_a h_n)'(C_b h_n) for (a, b) = (0,0), (0,1), .., (1,1), ..
  [[nodiscard]] Matrix inner(const std::vector<const ProjectedRoot*>& roots) const;
  /// The same for chosen pairs only, one column each.
  using Pair = std::pair<std::size_t, std::size_t>;
  [[nodiscard]] Matrix inner(const std::vector<const ProjectedRoot*>& roots, const std::vector<Pair>& pairs) const;

  /// sum_n sum_a weight_a(n) (C_a h_n) h_n' on the pattern; column_squares receives squares() of the first weight if it
  /// was computed.
  [[nodiscard]] Vector gather(const std::vector<WeightedRoot>& roots, Vector* column_squares = nullptr) const;

  /// sum_n weight_n h_nj^2 for every column j.
  [[nodiscard]] Vector squares(const Vector& weight) const { return design_.column_squares(weight, threads_); }

  /// sum_n weight_n h_n h_n' for columns [begin, end), weights not negative; the lower triangle.
  [[nodiscard]] Matrix gram(const Vector& weight, Index begin, Index end) const;

 private:
  Design design_;
  const RootPattern* pattern_;
  int threads_;
  Index rows_ = 0;
  const Matrix* dense_ = nullptr;
  const SparseMatrix* sparse_ = nullptr;
  SparseMatrix identity_;
  // Sparse designs by column, for windows of columns: made when the first one is asked for.
  mutable std::once_flag once_by_column_;
  mutable Eigen::SparseMatrix<double, Eigen::ColMajor> by_column_;
  std::vector<Index> diagonal_columns_;  // Columns whose diagonal entry is all there is in its row.
  bool keeps_panel_ = false;

  void gather_panels(const std::vector<WeightedRoot>& roots, Vector& out) const;
  /// Sparse designs: entries of a column in consecutive rows that are not purely diagonal.
  struct Run {
    Index row, entry, length;
  };
  std::vector<Run> runs_;
  std::vector<Index> run_start_;  // columns + 1 offsets.
  void find_runs();
  void fetch_column(Index column, const Eigen::Ref<const Vector>& entries) const;
  [[nodiscard]] std::span<const Run> runs(Index column) const {
    const auto c = static_cast<std::size_t>(column);
    return std::span(runs_).subspan(static_cast<std::size_t>(run_start_[c]),
                                    static_cast<std::size_t>(run_start_[c + 1] - run_start_[c]));
  }

  /// For every block of the pattern, those of all roots one below the other.
  [[nodiscard]] std::vector<Matrix> stacked_blocks(const std::vector<const ProjectedRoot*>& roots) const;
};

}  // namespace gaussmith
