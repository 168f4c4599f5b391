// Operators made of others.

#include "gaussmith/errors.hpp"
#include "gaussmith/operators.hpp"
#include "model/design_storage.hpp"
#include "model/operators/checks.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace gaussmith {

namespace {

class Stacked final : public LinearOperator {
 public:
  explicit Stacked(std::vector<OperatorHandle> parts) : parts_(std::move(parts)) {
    for (const OperatorHandle& part : parts_) rows_ += part->rows();
  }
  [[nodiscard]] Index rows() const override { return rows_; }
  [[nodiscard]] Index cols() const override { return parts_.front()->cols(); }
  [[nodiscard]] double bytes() const override {
    double sum = 0.0;
    for (const OperatorHandle& part : parts_) sum += part->bytes();
    return sum;
  }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    Index begin = 0;
    for (const OperatorHandle& part : parts_) {
      part->apply(x, out.middleRows(begin, part->rows()));
      begin += part->rows();
    }
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out.setZero();
    Matrix term(out.rows(), out.cols());
    Index begin = 0;
    for (const OperatorHandle& part : parts_) {
      part->apply_transposed(x.middleRows(begin, part->rows()), term);
      out += term;
      begin += part->rows();
    }
  }

 private:
  std::vector<OperatorHandle> parts_;
  Index rows_ = 0;
};

class RowScaled final : public LinearOperator {
 public:
  RowScaled(OperatorHandle a, Vector scale) : a_(std::move(a)), scale_(std::move(scale)) {}
  [[nodiscard]] Index rows() const override { return a_->rows(); }
  [[nodiscard]] Index cols() const override { return a_->cols(); }
  [[nodiscard]] double bytes() const override { return a_->bytes() + 8.0 * static_cast<double>(scale_.size()); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    a_->apply(x, out);
    out.array().colwise() *= scale_.array();
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    a_->apply_transposed(scale_.asDiagonal() * x, out);
  }

 private:
  OperatorHandle a_;
  Vector scale_;
};

class Composed final : public LinearOperator {
 public:
  Composed(OperatorHandle a, OperatorHandle b) : a_(std::move(a)), b_(std::move(b)) {}
  [[nodiscard]] Index rows() const override { return a_->rows(); }
  [[nodiscard]] Index cols() const override { return b_->cols(); }
  [[nodiscard]] double bytes() const override { return a_->bytes() + b_->bytes(); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    Matrix between(b_->rows(), x.cols());
    b_->apply(x, between);
    a_->apply(between, out);
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    Matrix between(a_->cols(), x.cols());
    a_->apply_transposed(x, between);
    b_->apply_transposed(between, out);
  }

 private:
  OperatorHandle a_;
  OperatorHandle b_;
};

/// The products of a sparse design.
class MatrixProducts final : public LinearOperator {
 public:
  explicit MatrixProducts(SparseMatrix matrix)
      : entries_(store_sparse(std::make_shared<const SparseMatrix>(std::move(matrix)))) {}
  [[nodiscard]] Index rows() const override { return entries_->rows(); }
  [[nodiscard]] Index cols() const override { return entries_->cols(); }
  [[nodiscard]] double bytes() const override { return entries_->bytes(); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { entries_->times(x, out, 1); }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    entries_->transposed_times(x, out, 1);
  }

 private:
  std::shared_ptr<const Design::Storage> entries_;
};

}  // namespace

OperatorHandle stacked(std::vector<OperatorHandle> parts) {
  if (parts.empty()) throw InvalidModel("stacked: no operators; at least one is needed");
  for (std::size_t p = 0; p < parts.size(); ++p) {
    check_handle("stacked", parts[p]);
    if (parts[p]->cols() != parts[0]->cols())
      throw InvalidModel(fmt::format("stacked: operator {} has {} columns and operator 0 has {}; they must be as many",
                                     p, parts[p]->cols(), parts[0]->cols()));
  }
  return std::make_shared<const Stacked>(std::move(parts));
}

OperatorHandle scaled(OperatorHandle a, Vector row_scale) {
  check_handle("scaled", a);
  if (row_scale.size() != a->rows())
    throw InvalidModel(
        fmt::format("scaled: {} factors for an operator of {} rows; one a row is needed", row_scale.size(), a->rows()));
  for (Index n = 0; n < row_scale.size(); ++n)
    if (!std::isfinite(row_scale(n)))
      throw InvalidModel(fmt::format("scaled: factor {} is {}; it must be a finite number", n, row_scale(n)));
  return std::make_shared<const RowScaled>(std::move(a), std::move(row_scale));
}

OperatorHandle scaled(OperatorHandle a, double scale) {
  check_handle("scaled", a);
  const Index rows = a->rows();
  return scaled(std::move(a), Vector::Constant(rows, scale));
}

OperatorHandle composed(OperatorHandle a, OperatorHandle b) {
  check_handle("composed", a);
  check_handle("composed", b);
  if (a->cols() != b->rows())
    throw InvalidModel(
        fmt::format("composed: the first operator has {} columns and the second {} rows; they must be as "
                    "many",
                    a->cols(), b->rows()));
  return std::make_shared<const Composed>(std::move(a), std::move(b));
}

OperatorHandle from_matrix(SparseMatrix matrix) {
  for (Index n = 0; n < matrix.rows(); ++n)
    for (SparseMatrix::InnerIterator it(matrix, n); it; ++it)
      if (!std::isfinite(it.value()))
        throw InvalidModel(
            fmt::format("from_matrix: matrix[{}][{}] is {}; it must be a finite number", n, it.col(), it.value()));
  matrix.makeCompressed();
  return std::make_shared<const MatrixProducts>(std::move(matrix));
}

}  // namespace gaussmith
