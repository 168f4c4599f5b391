#include "gaussmith/design.hpp"

#include "gaussmith/errors.hpp"
#include "model/design_storage.hpp"

#include <fmt/format.h>

namespace gaussmith {

namespace {

template <class Pointer>
Pointer not_null(Pointer rows) {
  if (!rows) throw InvalidModel("design: a null pointer; give a matrix or an operator");
  return rows;
}

/// Eigen's sparse matrices have no move of their own: only a swap does without a second copy.
template <class Value>
std::shared_ptr<const Eigen::SparseMatrix<Value, Eigen::RowMajor>> shared(
    Eigen::SparseMatrix<Value, Eigen::RowMajor>&& rows) {
  auto out = std::make_shared<Eigen::SparseMatrix<Value, Eigen::RowMajor>>();
  out->swap(rows);
  return out;
}

template <class Rows>
std::shared_ptr<const Rows> compressed(std::shared_ptr<const Rows> rows) {
  if (not_null(rows)->isCompressed()) return rows;
  Rows copy = *rows;
  copy.makeCompressed();
  return shared(std::move(copy));
}

void check_row(Index row, Index rows) {
  if (row < 0 || row >= rows)
    throw InvalidModel(
        fmt::format("design: there is no row {}; it has {} (an identity has as many as it is sized for)", row, rows));
}

}  // namespace

Design::Design() : Design(Identity{}) {}
Design::Design(Identity /*identity*/) : Design(store_identity(0)) {}
Design::Design(Matrix rows) : Design(store_dense(std::make_shared<const Matrix>(std::move(rows)))) {}
Design::Design(const SparseMatrix& rows) : Design(std::make_shared<const SparseMatrix>(rows)) {}
Design::Design(SparseMatrix&& rows) : Design(shared(std::move(rows))) {}
Design::Design(const SingleSparseMatrix& rows) : Design(std::make_shared<const SingleSparseMatrix>(rows)) {}
Design::Design(SingleSparseMatrix&& rows) : Design(shared(std::move(rows))) {}
Design::Design(std::shared_ptr<const Matrix> rows) : Design(store_dense(not_null(std::move(rows)))) {}
Design::Design(std::shared_ptr<const LinearOperator> rows) : Design(store_operator(not_null(std::move(rows)))) {}
Design::Design(std::shared_ptr<const SparseMatrix> rows) : Design(store_sparse(compressed(std::move(rows)))) {}
Design::Design(std::shared_ptr<const SingleSparseMatrix> rows) : Design(store_sparse(compressed(std::move(rows)))) {}

Design Design::sized(Index dimension) const { return is_identity() ? Design(store_identity(dimension)) : *this; }
Index Design::rows() const { return storage_->rows(); }
Index Design::cols() const { return storage_->cols(); }
const char* Design::kind() const { return storage_->kind(); }
DesignEntries Design::entries() const { return storage_->entries(); }
bool Design::is_identity() const { return entries().identity; }
bool Design::has_entries() const {
  const DesignEntries stored = entries();
  return stored.identity || stored.dense != nullptr || stored.is_sparse();
}
double Design::nonzeros() const { return storage_->nonzeros(); }
double Design::bytes() const { return storage_->bytes(); }
std::pair<Index, Index> Design::first_not_finite() const { return storage_->first_not_finite(); }

Design Design::with_entries() const {
  return has_entries() ? *this : Design(times(Matrix(Matrix::Identity(cols(), cols()))));
}

Design Design::in_double() const {
  const SingleSparseMatrix* const single = entries().single;
  return single == nullptr ? *this : Design(SparseMatrix(single->cast<double>()));
}

Matrix Design::times(const Matrix& x, int threads) const {
  if (is_identity()) return x;
  Matrix out(rows(), x.cols());
  storage_->times(x, out, threads);
  return out;
}

Matrix Design::transposed_times(const Matrix& x, int threads) const {
  if (is_identity()) return x;
  Matrix out(cols(), x.cols());
  storage_->transposed_times(x, out, threads);
  return out;
}

Vector Design::times(const Vector& x, int threads) const {
  if (is_identity()) return x;
  Vector out(rows());
  storage_->times(x, out, threads);
  return out;
}

Vector Design::transposed_times(const Vector& x, int threads) const {
  if (is_identity()) return x;
  Vector out(cols());
  storage_->transposed_times(x, out, threads);
  return out;
}

Vector Design::gram_times(const Vector& weights, const Vector& x, Vector& hx, int threads) const {
  if (is_identity()) {
    hx = x;
    return weights.cwiseProduct(x);
  }
  Vector out(cols());
  hx.resize(rows());
  storage_->gram_times(weights, x, hx, out, threads);
  return out;
}

Matrix Design::gram_times(const Vector& weights, const Matrix& x, int threads) const {
  Matrix out(cols(), x.cols());
  storage_->block_gram_times(weights, x, out, threads);
  return out;
}

Matrix Design::gram(const Vector& weights, int threads) const { return storage_->gram(weights, threads); }
Matrix Design::outer(const Vector& weights, int threads) const { return storage_->outer(weights, threads); }
Vector Design::column_squares(const Vector& weights, int threads) const {
  return storage_->column_squares(weights, threads);
}
Vector Design::row_squares(const Vector& weights, int threads) const { return storage_->row_squares(weights, threads); }
Matrix Design::transposed_rows(Index begin, Index end) const {
  if (end > begin)
    for (const Index row : {begin, end - 1}) check_row(row, rows());
  return storage_->transposed_rows(begin, end);
}
Matrix Design::columns(Index begin, Index end) const {
  if (begin < 0 || end < begin || end > cols())
    throw InvalidModel(fmt::format("design: columns {} to {} of {} do not exist", begin, end, cols()));
  return storage_->columns(begin, end);
}
Design Design::select(const std::vector<Index>& chosen) const {
  for (const Index row : chosen) check_row(row, rows());
  return storage_->select(chosen);
}
Design Design::scaled(const Vector& scales) const { return storage_->scaled(scales); }

}  // namespace gaussmith
