#pragma once
// The design H of eta = H w + offset: one handle for the identity, dense and sparse matrices, and operators that only
// multiply. Everything that the library asks of a design is a verb here; how it is stored is known to its own file.

#include "gaussmith/types.hpp"

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace gaussmith {

/// H = I.
struct Identity {};

/// H known only through products with blocks of vectors. Both products must be those of one matrix, and const in the
/// sense that the same input gives the same bits. Called on the caller's thread.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;
  [[nodiscard]] virtual Index rows() const = 0;
  [[nodiscard]] virtual Index cols() const = 0;
  /// out := H x, x cols() x k and out rows() x k.
  virtual void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const = 0;
  /// out := H'x, x rows() x k and out cols() x k.
  virtual void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const = 0;
  /// Memory that it holds, for estimates.
  [[nodiscard]] virtual double bytes() const { return 0.0; }
};

/// Sparse rows in single precision: 8 bytes an entry instead of 12.
using SingleSparseMatrix = Eigen::SparseMatrix<float, Eigen::RowMajor>;

/// The numbers of a design as they are stored, for code whose algorithm depends on that: files, and products with
/// covariance roots. At most one of the four is set; none for an operator.
struct DesignEntries {
  bool identity = false;
  const Matrix* dense = nullptr;
  const SparseMatrix* sparse = nullptr;
  const SingleSparseMatrix* single = nullptr;

  [[nodiscard]] bool is_sparse() const { return sparse != nullptr || single != nullptr; }
};

/// A cheap handle: copies share the numbers, which never change. Sums have a fixed order: products with vectors,
/// squares and sparse rows give the same bits at any number of threads; dense blocks go through BLAS, where one thread
/// and several differ by rounding.
class Design {
 public:
  class Storage;  ///< Internal.

  /// The identity.
  Design();
  // NOLINTBEGIN(google-explicit-constructor): `.design = h` is how a model is written down.
  Design(Identity identity);
  Design(Matrix rows);
  Design(const SparseMatrix& rows);
  /// Takes the numbers over.
  Design(SparseMatrix&& rows);
  /// Entries stored in single precision; everything made of them is computed in double precision.
  Design(const SingleSparseMatrix& rows);
  Design(SingleSparseMatrix&& rows);
  template <class Expression>
  Design(const Eigen::MatrixBase<Expression>& rows) : Design(Matrix(rows)) {}
  /// Shares numbers that the caller holds already; not null.
  Design(std::shared_ptr<const Matrix> rows);
  Design(std::shared_ptr<const SparseMatrix> rows);
  Design(std::shared_ptr<const SingleSparseMatrix> rows);
  Design(std::shared_ptr<const LinearOperator> rows);
  template <class Operator>
  requires std::derived_from<std::remove_const_t<Operator>, LinearOperator> Design(std::shared_ptr<Operator> rows)
      : Design(std::shared_ptr<const LinearOperator>(std::move(rows))) {}
  // NOLINTEND(google-explicit-constructor)

  /// The same design for weights of this dimension: gives an identity its size, and is all that the others are.
  [[nodiscard]] Design sized(Index dimension) const;
  /// Zero for an identity that has no size yet.
  [[nodiscard]] Index rows() const;
  [[nodiscard]] Index cols() const;

  [[nodiscard]] bool is_identity() const;
  /// Whether single entries can be had without products: everything but operators.
  [[nodiscard]] bool has_entries() const;
  [[nodiscard]] DesignEntries entries() const;
  /// The same rows with entries. An operator multiplies the unit vectors, D products, and stores N x D numbers.
  [[nodiscard]] Design with_entries() const;
  /// The same with entries in double precision: a copy of single ones, otherwise itself.
  [[nodiscard]] Design in_double() const;
  /// "identity", "dense", "sparse" or "operator".
  [[nodiscard]] const char* kind() const;
  /// Numbers other than zero: N, N x D, the stored entries; N x D for an operator.
  [[nodiscard]] double nonzeros() const;
  /// Memory of the stored numbers.
  [[nodiscard]] double bytes() const;

  /// H X and H'X for blocks of vectors.
  [[nodiscard]] Matrix times(const Matrix& x, int threads = 1) const;
  [[nodiscard]] Matrix transposed_times(const Matrix& x, int threads = 1) const;
  /// H x and H'x.
  [[nodiscard]] Vector times(const Vector& x, int threads = 1) const;
  [[nodiscard]] Vector transposed_times(const Vector& x, int threads = 1) const;
  /// H'diag(weights) H x, and H x on the way; dense rows are read from memory once for both products.
  [[nodiscard]] Vector gram_times(const Vector& weights, const Vector& x, Vector& hx, int threads = 1) const;
  /// The same for blocks of vectors; sparse rows are read once for both products and eight vectors.
  [[nodiscard]] Matrix gram_times(const Vector& weights, const Matrix& x, int threads = 1) const;

  /// H'diag(weights) H, weights of either sign: D x D, only the lower triangle is meant. N D^2 flops dense, N L^2 with
  /// L entries a row; an operator makes 2 D products.
  [[nodiscard]] Matrix gram(const Vector& weights, int threads = 1) const;
  /// H diag(weights) H', weights >= 0: N x N, symmetric. An operator makes 2 N products.
  [[nodiscard]] Matrix outer(const Vector& weights, int threads = 1) const;
  /// sum_n weights_n h_nj^2 for every column, and sum_j weights_j h_nj^2 for every row. An operator makes D products.
  [[nodiscard]] Vector column_squares(const Vector& weights, int threads = 1) const;
  [[nodiscard]] Vector row_squares(const Vector& weights, int threads = 1) const;
  /// Rows [begin, end) as columns of a D x (end - begin) matrix. An operator makes as many products.
  [[nodiscard]] Matrix transposed_rows(Index begin, Index end) const;
  /// Columns [begin, end) as an N x (end - begin) matrix. An operator makes as many products.
  [[nodiscard]] Matrix columns(Index begin, Index end) const;
  /// The chosen rows as a design of their own.
  [[nodiscard]] Design select(const std::vector<Index>& chosen) const;
  /// H diag(scales), in double precision.
  [[nodiscard]] Design scaled(const Vector& scales) const;

  /// The first entry that is not a finite number, as {row, column}; {-1, -1} if there is none or no entries.
  [[nodiscard]] std::pair<Index, Index> first_not_finite() const;

 private:
  explicit Design(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}
  std::shared_ptr<const Storage> storage_;
};

}  // namespace gaussmith
