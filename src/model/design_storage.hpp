#pragma once
// How a design is stored: one class a kind, each in its own file. The verbs are those of Design.

#include "gaussmith/design.hpp"
#include "linalg/dense.hpp"

#include <utility>

namespace gaussmith {

class Design::Storage {
 public:
  Storage() = default;
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  [[nodiscard]] virtual const char* kind() const = 0;
  [[nodiscard]] virtual Index rows() const = 0;
  [[nodiscard]] virtual Index cols() const = 0;
  [[nodiscard]] virtual DesignEntries entries() const = 0;
  [[nodiscard]] virtual double nonzeros() const = 0;
  [[nodiscard]] virtual double bytes() const = 0;
  [[nodiscard]] virtual std::pair<Index, Index> first_not_finite() const { return {-1, -1}; }

  /// out := H x and out := H'x.
  virtual void times(ConstMatrixView x, MatrixView out, int threads) const = 0;
  virtual void transposed_times(ConstMatrixView x, MatrixView out, int threads) const = 0;
  /// hx := H x and out := H'(weights o hx).
  virtual void gram_times(const Vector& weights, const Vector& x, Vector& hx, Vector& out, int threads) const {
    times(x, hx, threads);
    transposed_times(weights.cwiseProduct(hx), out, threads);
  }
  /// out := H'(weights o H x) for blocks of vectors.
  virtual void block_gram_times(const Vector& weights, ConstMatrixView x, MatrixView out, int threads) const {
    Matrix hx(rows(), x.cols());
    times(x, hx, threads);
    hx.array().colwise() *= weights.array();
    transposed_times(hx, out, threads);
  }
  [[nodiscard]] virtual Matrix gram(const Vector& weights, int threads) const = 0;
  [[nodiscard]] virtual Matrix outer(const Vector& weights, int threads) const = 0;
  [[nodiscard]] virtual Vector column_squares(const Vector& weights, int threads) const = 0;
  [[nodiscard]] virtual Vector row_squares(const Vector& weights, int threads) const = 0;
  [[nodiscard]] virtual Matrix transposed_rows(Index begin, Index end) const = 0;
  [[nodiscard]] virtual Matrix columns(Index begin, Index end) const {
    Matrix units = Matrix::Zero(cols(), end - begin);
    for (Index j = begin; j < end; ++j) units(j, j - begin) = 1.0;
    Matrix out(rows(), end - begin);
    times(units, out, 1);
    return out;
  }
  [[nodiscard]] virtual Design select(const std::vector<Index>& rows) const = 0;
  [[nodiscard]] virtual Design scaled(const Vector& scales) const = 0;
};

[[nodiscard]] std::shared_ptr<const Design::Storage> store_identity(Index size);
[[nodiscard]] std::shared_ptr<const Design::Storage> store_dense(std::shared_ptr<const Matrix> rows);
/// Rows must be compressed.
[[nodiscard]] std::shared_ptr<const Design::Storage> store_sparse(std::shared_ptr<const SparseMatrix> rows);
[[nodiscard]] std::shared_ptr<const Design::Storage> store_sparse(std::shared_ptr<const SingleSparseMatrix> rows);
[[nodiscard]] std::shared_ptr<const Design::Storage> store_operator(std::shared_ptr<const LinearOperator> rows);

}  // namespace gaussmith
