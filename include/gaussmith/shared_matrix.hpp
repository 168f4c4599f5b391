#pragma once
// Data that a model, its posterior and its learning history hold once between them.

#include "gaussmith/types.hpp"

#include <memory>
#include <utility>

namespace gaussmith {

/// An immutable dense matrix whose copies share their numbers. Made from a matrix or an expression and read like one.
class SharedMatrix {
 public:
  SharedMatrix() : SharedMatrix(Matrix()) {}
  // NOLINTBEGIN(google-explicit-constructor): a matrix is what one has, sharing it is what the library does with it.
  SharedMatrix(Matrix values) : values_(std::make_shared<const Matrix>(std::move(values))) {}
  template <class Expression>
  SharedMatrix(const Eigen::MatrixBase<Expression>& values) : SharedMatrix(Matrix(values)) {}
  template <class Expression>
  SharedMatrix(const Eigen::DiagonalBase<Expression>& values) : SharedMatrix(Matrix(values.derived())) {}
  /// Shares numbers that the caller holds already; null stands for an empty matrix.
  SharedMatrix(std::shared_ptr<const Matrix> values)
      : values_(values ? std::move(values) : std::make_shared<const Matrix>()) {}

  operator const Matrix&() const { return *values_; }
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] const Matrix& operator*() const { return *values_; }
  [[nodiscard]] const Matrix* operator->() const { return values_.get(); }

  [[nodiscard]] Index rows() const { return values_->rows(); }
  [[nodiscard]] Index cols() const { return values_->cols(); }
  [[nodiscard]] Index size() const { return values_->size(); }
  [[nodiscard]] double operator()(Index i, Index j) const { return (*values_)(i, j); }

 private:
  std::shared_ptr<const Matrix> values_;
};

}  // namespace gaussmith
