// An operator that only multiplies: what needs entries is made from products with unit vectors, in panels.

#include "model/design_storage.hpp"

#include <algorithm>

namespace gaussmith {

namespace {

constexpr Index panel_columns = 64;

/// H diag(scales) of an operator.
class ScaledOperator final : public LinearOperator {
 public:
  ScaledOperator(std::shared_ptr<const LinearOperator> h, Vector scales)
      : h_(std::move(h)), scales_(std::move(scales)) {}
  [[nodiscard]] Index rows() const override { return h_->rows(); }
  [[nodiscard]] Index cols() const override { return h_->cols(); }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    h_->apply(scales_.asDiagonal() * x, out);
  }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    h_->apply_transposed(x, out);
    out.array().colwise() *= scales_.array();
  }
  [[nodiscard]] double bytes() const override { return h_->bytes() + 8.0 * static_cast<double>(scales_.size()); }

 private:
  std::shared_ptr<const LinearOperator> h_;
  Vector scales_;
};

class OperatorStorage final : public Design::Storage {
 public:
  explicit OperatorStorage(std::shared_ptr<const LinearOperator> rows) : h_(std::move(rows)) {}

  [[nodiscard]] const char* kind() const override { return "operator"; }
  [[nodiscard]] Index rows() const override { return h_->rows(); }
  [[nodiscard]] Index cols() const override { return h_->cols(); }
  [[nodiscard]] DesignEntries entries() const override { return {}; }
  [[nodiscard]] double nonzeros() const override {
    return static_cast<double>(h_->rows()) * static_cast<double>(h_->cols());
  }
  [[nodiscard]] double bytes() const override { return h_->bytes(); }

  void times(ConstMatrixView x, MatrixView out, int /*threads*/) const override { h_->apply(x, out); }
  void transposed_times(ConstMatrixView x, MatrixView out, int /*threads*/) const override {
    h_->apply_transposed(x, out);
  }

  [[nodiscard]] Matrix gram(const Vector& weights, int /*threads*/) const override {
    Matrix out(h_->cols(), h_->cols());
    for_columns([&](Index begin, const Matrix& columns) {
      h_->apply_transposed(weights.asDiagonal() * columns, out.middleCols(begin, columns.cols()));
    });
    return out;
  }

  [[nodiscard]] Matrix outer(const Vector& weights, int /*threads*/) const override {
    Matrix out(h_->rows(), h_->rows());
    for (Index begin = 0; begin < h_->rows(); begin += panel_columns) {
      const Index end = std::min(h_->rows(), begin + panel_columns);
      h_->apply(weights.asDiagonal() * transposed_rows(begin, end), out.middleCols(begin, end - begin));
    }
    return 0.5 * (out + out.transpose());
  }

  [[nodiscard]] Vector column_squares(const Vector& weights, int /*threads*/) const override {
    Vector out(h_->cols());
    for_columns([&](Index begin, const Matrix& columns) {
      out.segment(begin, columns.cols()) = columns.cwiseAbs2().transpose() * weights;
    });
    return out;
  }

  [[nodiscard]] Vector row_squares(const Vector& weights, int /*threads*/) const override {
    Vector out = Vector::Zero(h_->rows());
    for_columns([&](Index begin, const Matrix& columns) {
      out += columns.cwiseAbs2() * weights.segment(begin, columns.cols());
    });
    return out;
  }

  [[nodiscard]] Matrix transposed_rows(Index begin, Index end) const override {
    std::vector<Index> rows;
    for (Index n = begin; n < end; ++n) rows.push_back(n);
    return columns_of_transpose(rows);
  }

  [[nodiscard]] Design select(const std::vector<Index>& rows) const override {
    return Matrix(columns_of_transpose(rows).transpose());
  }

  [[nodiscard]] Design scaled(const Vector& scales) const override {
    return std::shared_ptr<const LinearOperator>(std::make_shared<const ScaledOperator>(h_, scales));
  }

 private:
  /// visit(begin, H e_begin, H e_begin+1, ...) for panels of columns.
  template <class Visit>
  void for_columns(const Visit& visit) const {
    for (Index begin = 0; begin < h_->cols(); begin += panel_columns) {
      const Index count = std::min(panel_columns, h_->cols() - begin);
      Matrix units = Matrix::Zero(h_->cols(), count);
      for (Index k = 0; k < count; ++k) units(begin + k, k) = 1.0;
      Matrix columns(h_->rows(), count);
      h_->apply(units, columns);
      visit(begin, columns);
    }
  }

  [[nodiscard]] Matrix columns_of_transpose(const std::vector<Index>& rows) const {
    const auto count = static_cast<Index>(rows.size());
    Matrix out(h_->cols(), count);
    for (Index begin = 0; begin < count; begin += panel_columns) {
      const Index width = std::min(panel_columns, count - begin);
      Matrix units = Matrix::Zero(h_->rows(), width);
      for (Index k = 0; k < width; ++k) units(rows[static_cast<std::size_t>(begin + k)], k) = 1.0;
      h_->apply_transposed(units, out.middleCols(begin, width));
    }
    return out;
  }

  std::shared_ptr<const LinearOperator> h_;
};

}  // namespace

std::shared_ptr<const Design::Storage> store_operator(std::shared_ptr<const LinearOperator> rows) {
  return std::make_shared<const OperatorStorage>(std::move(rows));
}

}  // namespace gaussmith
