// Compressed sparse rows. Products run over rows; sums over rows are made in parts whose number depends on the design
// alone, so that they do not depend on the number of threads.

#include "base/parallel_blocks.hpp"
#include "model/design_storage.hpp"
#include "model/sparse_panels.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace gaussmith {

namespace {

constexpr Index rows_at_once = 512;
/// Entries that make one more partial sum worth its addition, and the most partial sums.
constexpr Index entries_per_part = Index{1} << 16;
constexpr Index most_parts = 8;
/// A multiplication of DSYRK costs this much less than one that looks its entry up: denser rows go through dense
/// blocks.
constexpr double dense_advantage = 40.0;
constexpr Index dense_rows_at_once = 1024;
/// From this many vectors on they are multiplied side by side.
constexpr Index fewest_side_by_side = 3;
/// Columns of a Gram matrix that make one block of work.
constexpr Index gram_tiles = 8;
/// Columns of H diag(w) H' that a thread makes at a time: later ones are shorter.
constexpr Index outer_columns_at_once = 32;

/// Value is what entries are stored as; all sums and products are of doubles.
template <class Value>
class SparseStorage final : public Design::Storage {
 public:
  using Rows = Eigen::SparseMatrix<Value, Eigen::RowMajor>;

  /// The entries of a row as doubles.
  class Entry : public Rows::InnerIterator {
   public:
    using Rows::InnerIterator::InnerIterator;
    [[nodiscard]] double value() const { return static_cast<double>(Rows::InnerIterator::value()); }
  };

  explicit SparseStorage(std::shared_ptr<const Rows> rows) : shared_(std::move(rows)), h_(*shared_) {}

  [[nodiscard]] const char* kind() const override { return "sparse"; }
  [[nodiscard]] Index rows() const override { return h_.rows(); }
  [[nodiscard]] Index cols() const override { return h_.cols(); }
  [[nodiscard]] DesignEntries entries() const override {
    if constexpr (std::is_same_v<Value, float>)
      return {.single = &h_};
    else
      return {.sparse = &h_};
  }
  [[nodiscard]] double nonzeros() const override { return static_cast<double>(h_.nonZeros()); }
  [[nodiscard]] double bytes() const override {
    return static_cast<double>(sizeof(Value) + sizeof(int)) * static_cast<double>(h_.nonZeros()) +
           4.0 * static_cast<double>(h_.rows());
  }

  [[nodiscard]] std::pair<Index, Index> first_not_finite() const override {
    for (Index n = 0; n < h_.rows(); ++n)
      for (Entry it(h_, n); it; ++it)
        if (!std::isfinite(it.value())) return {it.row(), it.col()};
    return {-1, -1};
  }

  void times(ConstMatrixView x, MatrixView out, int threads) const override {
    if (x.cols() >= fewest_side_by_side) {
      panel_times(h_, x, out, threads);
      return;
    }
    parallel_blocks(h_.rows(), rows_at_once, threads, [&](Index begin, Index end) {
      for (Index k = 0; k < x.cols(); ++k)
        for (Index n = begin; n < end; ++n) {
          double sum = 0.0;
          for (Entry it(h_, n); it; ++it) sum += it.value() * x(it.col(), k);
          out(n, k) = sum;
        }
    });
  }

  void transposed_times(ConstMatrixView x, MatrixView out, int threads) const override {
    if (x.cols() >= fewest_side_by_side) {
      panel_transposed_times(h_, x, out, threads);
      return;
    }
    for (Index k = 0; k < x.cols(); ++k)
      out.col(k) = sum_over_rows(threads, [&](Index n, Eigen::Ref<Vector> sum) {
        const double factor = x(n, k);
        if (factor == 0.0) return;
        for (Entry it(h_, n); it; ++it) sum(it.col()) += factor * it.value();
      });
  }

  void gram_times(const Vector& weights, const Vector& x, Vector& hx, Vector& out, int threads) const override {
    out = sum_over_rows(threads, [&](Index n, Eigen::Ref<Vector> sum) {
      double product = 0.0;
      for (Entry it(h_, n); it; ++it) product += it.value() * x(it.col());
      hx(n) = product;
      const double factor = weights(n) * product;
      for (Entry it(h_, n); it; ++it) sum(it.col()) += factor * it.value();
    });
  }

  void block_gram_times(const Vector& weights, ConstMatrixView x, MatrixView out, int threads) const override {
    panel_gram_times(h_, weights, x, out, threads);
  }

  [[nodiscard]] Matrix gram(const Vector& weights, int threads) const override {
    const Index d = h_.cols();
    Matrix out = Matrix::Zero(d, d);
    double pairs = 0.0;
    for (Index n = 0; n < h_.rows(); ++n) {
      const auto length = static_cast<double>(h_.outerIndexPtr()[n + 1] - h_.outerIndexPtr()[n]);
      pairs += length * length;
    }
    if (pairs * dense_advantage > static_cast<double>(h_.rows()) * static_cast<double>(d) * static_cast<double>(d)) {
      add_dense_gram(weights, out);
      return out;
    }
    // Each block of work owns some columns of the result and meets the rows in order.
    const Index tile = std::max<Index>(1, (d + gram_tiles - 1) / gram_tiles);
    parallel_blocks(d, tile, threads, [&](Index begin, Index end) {
      for (Index n = 0; n < h_.rows(); ++n) {
        if (weights(n) == 0.0) continue;
        const auto* const first = h_.innerIndexPtr() + h_.outerIndexPtr()[n];
        const auto* const last = h_.innerIndexPtr() + h_.outerIndexPtr()[n + 1];
        const Value* const values = h_.valuePtr() + h_.outerIndexPtr()[n];
        for (const auto* j = std::lower_bound(first, last, begin); j != last && *j < end; ++j) {
          const double factor = weights(n) * static_cast<double>(values[j - first]);
          double* const column = out.col(*j).data();
          for (const auto* i = j; i != last; ++i) column[*i] += factor * static_cast<double>(values[i - first]);
        }
      }
    });
    return out;
  }

  [[nodiscard]] Matrix outer(const Vector& weights, int threads) const override {
    // A column of the result at a time, which stays in the cache, from the rows' entries and a copy of them by columns.
    using ByColumn = Eigen::SparseMatrix<Value, Eigen::ColMajor>;
    const ByColumn by_column = h_;
    Matrix out = Matrix::Zero(h_.rows(), h_.rows());
    parallel_blocks(h_.rows(), outer_columns_at_once, threads, [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        double* const column = out.col(n).data();
        for (Entry a(h_, n); a; ++a) {
          const double factor = weights(a.col()) * static_cast<double>(a.value());
          const auto* const rows = by_column.innerIndexPtr();
          const auto* const last = rows + by_column.outerIndexPtr()[a.col() + 1];
          for (const auto* i = std::lower_bound(rows + by_column.outerIndexPtr()[a.col()], last, n); i != last; ++i)
            column[*i] += factor * static_cast<double>(by_column.valuePtr()[i - rows]);
        }
      }
    });
    mirror_lower(out);
    return out;
  }

  [[nodiscard]] Vector column_squares(const Vector& weights, int threads) const override {
    return sum_over_rows(threads, [&](Index n, Eigen::Ref<Vector> sum) {
      for (Entry it(h_, n); it; ++it) sum(it.col()) += weights(n) * it.value() * it.value();
    });
  }

  [[nodiscard]] Vector row_squares(const Vector& weights, int threads) const override {
    Vector out(h_.rows());
    parallel_blocks(h_.rows(), rows_at_once, threads, [&](Index begin, Index end) {
      for (Index n = begin; n < end; ++n) {
        double sum = 0.0;
        for (Entry it(h_, n); it; ++it) sum += weights(it.col()) * it.value() * it.value();
        out(n) = sum;
      }
    });
    return out;
  }

  [[nodiscard]] Matrix transposed_rows(Index begin, Index end) const override {
    Matrix out = Matrix::Zero(h_.cols(), end - begin);
    for (Index n = begin; n < end; ++n)
      for (Entry it(h_, n); it; ++it) out(it.col(), n - begin) = it.value();
    return out;
  }

  [[nodiscard]] Matrix columns(Index begin, Index end) const override {
    Matrix out = Matrix::Zero(h_.rows(), end - begin);
    for (Index n = 0; n < h_.rows(); ++n)
      for (Entry it(h_, n); it; ++it)
        if (it.col() >= begin && it.col() < end) out(n, it.col() - begin) = it.value();
    return out;
  }

  [[nodiscard]] Design select(const std::vector<Index>& rows) const override {
    Index entries = 0;
    for (const Index row : rows) entries += h_.outerIndexPtr()[row + 1] - h_.outerIndexPtr()[row];
    Rows out(static_cast<Index>(rows.size()), h_.cols());
    out.resizeNonZeros(entries);
    Index filled = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const int first = h_.outerIndexPtr()[rows[i]];
      const int count = h_.outerIndexPtr()[rows[i] + 1] - first;
      std::copy_n(h_.innerIndexPtr() + first, count, out.innerIndexPtr() + filled);
      std::copy_n(h_.valuePtr() + first, count, out.valuePtr() + filled);
      filled += count;
      out.outerIndexPtr()[i + 1] = static_cast<int>(filled);
    }
    return Design(std::move(out));
  }

  [[nodiscard]] Design scaled(const Vector& scales) const override {
    return SparseMatrix(h_.template cast<double>() * scales.asDiagonal());
  }

 private:
  /// sum over n of what row(n, sum) adds: D numbers.
  template <class Row>
  [[nodiscard]] Vector sum_over_rows(int threads, const Row& row) const {
    const Index count = parts();
    const std::vector<Index> cuts = row_cuts(h_, count);
    Matrix sums = Matrix::Zero(h_.cols(), count);
    parallel_blocks(count, 1, threads, [&](Index part, Index /*end*/) {
      const auto at = static_cast<std::size_t>(part);
      Eigen::Ref<Vector> sum = sums.col(part);
      for (Index n = cuts[at]; n < cuts[at + 1]; ++n) row(n, sum);
    });
    Vector out = sums.col(0);
    for (Index p = 1; p < count; ++p) out += sums.col(p);
    return out;
  }

  /// Partial sums over rows.
  [[nodiscard]] Index parts() const {
    return std::clamp<Index>(h_.nonZeros() / std::max(entries_per_part, h_.cols()), 1, most_parts);
  }

  void add_dense_gram(const Vector& weights, Matrix& out) const {
    for (Index begin = 0; begin < h_.rows(); begin += dense_rows_at_once) {
      const Index count = std::min(dense_rows_at_once, h_.rows() - begin);
      const Matrix block = transposed_rows(begin, begin + count);
      for (const double sign : {1.0, -1.0}) {
        const Vector root = (sign * weights.segment(begin, count)).cwiseMax(0.0).cwiseSqrt();
        if (!root.isZero(0.0)) add_outer(sign, block * root.asDiagonal(), 1.0, out);
      }
    }
  }

  std::shared_ptr<const Rows> shared_;
  const Rows& h_;
};

}  // namespace

std::shared_ptr<const Design::Storage> store_sparse(std::shared_ptr<const SparseMatrix> rows) {
  return std::make_shared<const SparseStorage<double>>(std::move(rows));
}

std::shared_ptr<const Design::Storage> store_sparse(std::shared_ptr<const SingleSparseMatrix> rows) {
  return std::make_shared<const SparseStorage<float>>(std::move(rows));
}

}  // namespace gaussmith
