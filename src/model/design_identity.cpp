// H = I.

#include "model/design_storage.hpp"

namespace gaussmith {

namespace {

class IdentityStorage final : public Design::Storage {
 public:
  explicit IdentityStorage(Index size) : size_(size) {}

  [[nodiscard]] const char* kind() const override { return "identity"; }
  [[nodiscard]] Index rows() const override { return size_; }
  [[nodiscard]] Index cols() const override { return size_; }
  [[nodiscard]] DesignEntries entries() const override { return {.identity = true}; }
  [[nodiscard]] double nonzeros() const override { return static_cast<double>(size_); }
  [[nodiscard]] double bytes() const override { return 0.0; }

  void times(ConstMatrixView x, MatrixView out, int /*threads*/) const override { out = x; }
  void transposed_times(ConstMatrixView x, MatrixView out, int /*threads*/) const override { out = x; }
  [[nodiscard]] Matrix gram(const Vector& weights, int /*threads*/) const override { return weights.asDiagonal(); }
  [[nodiscard]] Matrix outer(const Vector& weights, int /*threads*/) const override { return weights.asDiagonal(); }
  [[nodiscard]] Vector column_squares(const Vector& weights, int /*threads*/) const override { return weights; }
  [[nodiscard]] Vector row_squares(const Vector& weights, int /*threads*/) const override { return weights; }
  [[nodiscard]] Matrix transposed_rows(Index begin, Index end) const override {
    Matrix out = Matrix::Zero(size_, end - begin);
    for (Index i = begin; i < end; ++i) out(i, i - begin) = 1.0;
    return out;
  }

  [[nodiscard]] Design select(const std::vector<Index>& rows) const override {
    SparseMatrix out(static_cast<Index>(rows.size()), size_);
    out.reserve(Eigen::VectorXi::Ones(static_cast<Index>(rows.size())));
    for (std::size_t i = 0; i < rows.size(); ++i) out.insert(static_cast<Index>(i), rows[i]) = 1.0;
    return out;
  }

  [[nodiscard]] Design scaled(const Vector& scales) const override {
    SparseMatrix out(size_, size_);
    out.reserve(Eigen::VectorXi::Ones(size_));
    for (Index i = 0; i < size_; ++i) out.insert(i, i) = scales(i);
    return out;
  }

 private:
  Index size_;
};

}  // namespace

std::shared_ptr<const Design::Storage> store_identity(Index size) {
  return std::make_shared<const IdentityStorage>(size);
}

}  // namespace gaussmith
