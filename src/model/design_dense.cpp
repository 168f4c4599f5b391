// Dense rows, column-major. Vectors go through DGEMV in blocks of rows or columns on our own threads; blocks of vectors
// and Gram matrices through DGEMM and DSYRK.

#include "base/parallel_blocks.hpp"
#include "linalg/column_sums.hpp"
#include "model/design_storage.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// Rows or columns of one block of work.
constexpr Index rows_at_once = 1024;
constexpr Index columns_at_once = 64;
/// Rows that stay in the cache between two products, and the parts in which sums over rows are made.
constexpr Index rows_in_cache = 128;
constexpr Index partial_sums = 8;

class DenseStorage final : public Design::Storage {
 public:
  explicit DenseStorage(std::shared_ptr<const Matrix> rows) : shared_(std::move(rows)), h_(*shared_) {}

  [[nodiscard]] const char* kind() const override { return "dense"; }
  [[nodiscard]] Index rows() const override { return h_.rows(); }
  [[nodiscard]] Index cols() const override { return h_.cols(); }
  [[nodiscard]] DesignEntries entries() const override { return {.dense = &h_}; }
  [[nodiscard]] double nonzeros() const override { return static_cast<double>(h_.size()); }
  [[nodiscard]] double bytes() const override { return 8.0 * static_cast<double>(h_.size()); }

  [[nodiscard]] std::pair<Index, Index> first_not_finite() const override {
    if (h_.allFinite()) return {-1, -1};
    for (Index j = 0; j < h_.cols(); ++j)
      for (Index i = 0; i < h_.rows(); ++i)
        if (!std::isfinite(h_(i, j))) return {i, j};
    return {-1, -1};
  }

  void times(ConstMatrixView x, MatrixView out, int threads) const override {
    if (x.cols() != 1) return set_times(h_, x, out);
    out.setZero();
    parallel_blocks(h_.rows(), rows_at_once, threads, [&](Index begin, Index end) {
      add_times(h_.middleRows(begin, end - begin), x.col(0), out.col(0).segment(begin, end - begin));
    });
  }

  void transposed_times(ConstMatrixView x, MatrixView out, int threads) const override {
    if (x.cols() != 1) return set_transposed_times(h_, x, out);
    out.setZero();
    parallel_blocks(h_.cols(), columns_at_once, threads, [&](Index begin, Index end) {
      add_transposed_times(h_.middleCols(begin, end - begin), x.col(0), out.col(0).segment(begin, end - begin));
    });
  }

  void gram_times(const Vector& weights, const Vector& x, Vector& hx, Vector& out, int threads) const override {
    const Index part = std::max<Index>(1, (h_.rows() + partial_sums - 1) / partial_sums);
    Matrix parts = Matrix::Zero(h_.cols(), partial_sums);
    hx.setZero();
    parallel_blocks(h_.rows(), part, threads, [&](Index begin, Index end) {
      auto sum = parts.col(begin / part);
      for (Index n = begin; n < end; n += rows_in_cache) {
        const Index count = std::min(rows_in_cache, end - n);
        const auto rows = h_.middleRows(n, count);
        add_times(rows, x, hx.segment(n, count));
        add_transposed_times(rows, weights.segment(n, count).cwiseProduct(hx.segment(n, count)), sum);
      }
    });
    out = parts.rowwise().sum();
  }

  [[nodiscard]] Matrix gram(const Vector& weights, int /*threads*/) const override {
    Matrix out = Matrix::Zero(h_.cols(), h_.cols());
    Matrix scaled;
    for (Index begin = 0; begin < h_.rows(); begin += rows_at_once) {
      const Index count = std::min(rows_at_once, h_.rows() - begin);
      // DSYRK knows one sign a call: positive and negative rows go separately.
      for (const double sign : {1.0, -1.0}) {
        const Vector root = (sign * weights.segment(begin, count)).cwiseMax(0.0).cwiseSqrt();
        if (root.isZero(0.0)) continue;
        scaled.noalias() = root.asDiagonal() * h_.middleRows(begin, count);
        add_gram(sign, scaled, 1.0, out);
      }
    }
    return out;
  }

  [[nodiscard]] Matrix outer(const Vector& weights, int /*threads*/) const override {
    const Matrix scaled = h_ * weights.cwiseSqrt().asDiagonal();
    Matrix out(h_.rows(), h_.rows());
    add_outer(1.0, scaled, 0.0, out);
    mirror_lower(out);
    return out;
  }

  [[nodiscard]] Vector column_squares(const Vector& weights, int threads) const override {
    Vector out(h_.cols());
    parallel_blocks(h_.cols(), columns_at_once, threads, [&](Index begin, Index end) {
      for (Index j = begin; j < end; ++j) out(j) = weighted_square(h_.col(j), weights);
    });
    return out;
  }

  [[nodiscard]] Vector row_squares(const Vector& weights, int threads) const override {
    Vector out = Vector::Zero(h_.rows());
    parallel_blocks(h_.rows(), rows_at_once, threads, [&](Index begin, Index end) {
      auto sums = out.segment(begin, end - begin).array();
      for (Index j = 0; j < h_.cols(); ++j) sums += weights(j) * h_.col(j).segment(begin, end - begin).array().square();
    });
    return out;
  }

  [[nodiscard]] Matrix transposed_rows(Index begin, Index end) const override {
    return h_.middleRows(begin, end - begin).transpose();
  }

  [[nodiscard]] Matrix columns(Index begin, Index end) const override { return h_.middleCols(begin, end - begin); }

  [[nodiscard]] Design select(const std::vector<Index>& rows) const override {
    Matrix out(static_cast<Index>(rows.size()), h_.cols());
    for (std::size_t i = 0; i < rows.size(); ++i) out.row(static_cast<Index>(i)) = h_.row(rows[i]);
    return out;
  }

  [[nodiscard]] Design scaled(const Vector& scales) const override { return Matrix(h_ * scales.asDiagonal()); }

 private:
  std::shared_ptr<const Matrix> shared_;
  const Matrix& h_;
};

}  // namespace

std::shared_ptr<const Design::Storage> store_dense(std::shared_ptr<const Matrix> rows) {
  return std::make_shared<const DenseStorage>(std::move(rows));
}

}  // namespace gaussmith
