#pragma once
// A matrix behind an operator that only multiplies, for tests that put it in the place of dense designs.

#include "gaussmith/design.hpp"

#include <memory>

namespace gaussmith::testing {

class MatrixOperator final : public LinearOperator {
 public:
  explicit MatrixOperator(Matrix h) : h_(std::move(h)) {}
  [[nodiscard]] Index rows() const override { return h_.rows(); }
  [[nodiscard]] Index cols() const override { return h_.cols(); }
  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override { out = h_ * x; }
  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    out = h_.transpose() * x;
  }

 private:
  Matrix h_;
};

inline Design only_multiplies(const Matrix& h) {
  return std::shared_ptr<const LinearOperator>(std::make_shared<const MatrixOperator>(h));
}

}  // namespace gaussmith::testing
