#include "gaussmith/operators.hpp"
#include "model/operators/checks.hpp"

namespace gaussmith {

namespace {

class FiniteDifferences final : public LinearOperator {
 public:
  explicit FiniteDifferences(const Grid& grid)
      : grid_(grid), across_(grid.height * (grid.width - 1)), down_((grid.height - 1) * grid.width) {}
  [[nodiscard]] Index rows() const override { return across_ + down_; }
  [[nodiscard]] Index cols() const override { return grid_.size(); }

  void apply(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    const Index inner = grid_.width - 1;
    for (Index k = 0; k < x.cols(); ++k) {
      for (Index i = 0; i < grid_.height; ++i) {
        const auto line = x.col(k).segment(i * grid_.width, grid_.width);
        out.col(k).segment(i * inner, inner) = line.tail(inner) - line.head(inner);
      }
      out.col(k).tail(down_) = x.col(k).tail(down_) - x.col(k).head(down_);
    }
  }

  void apply_transposed(const Eigen::Ref<const Matrix>& x, Eigen::Ref<Matrix> out) const override {
    const Index inner = grid_.width - 1;
    out.setZero();
    for (Index k = 0; k < x.cols(); ++k) {
      for (Index i = 0; i < grid_.height; ++i) {
        const auto differences = x.col(k).segment(i * inner, inner);
        auto line = out.col(k).segment(i * grid_.width, grid_.width);
        line.tail(inner) += differences;
        line.head(inner) -= differences;
      }
      out.col(k).tail(down_) += x.col(k).tail(down_);
      out.col(k).head(down_) -= x.col(k).tail(down_);
    }
  }

 private:
  Grid grid_;
  Index across_;
  Index down_;
};

}  // namespace

OperatorHandle finite_differences(const Grid& grid) {
  check_grid("finite_differences", grid);
  return std::make_shared<const FiniteDifferences>(grid);
}

}  // namespace gaussmith
