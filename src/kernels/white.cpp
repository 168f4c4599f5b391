// signal_sd^2 for a row with itself, 0 between rows, equal inputs or not: independent noise on every row.
#include "kernels/named_kernel.hpp"

#include <utility>

namespace gaussmith {

namespace {

class White final : public NamedKernel {
 public:
  White(const Family& family, ArgumentValues values)
      : NamedKernel(family, std::move(values)), variance_(value(0) * value(0)) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int /*threads*/) const override {
    check_inputs(x, z);
    out.setZero(x.rows(), z.rows());
  }

  void gram(const Matrix& x, Matrix& out, int /*threads*/) const override {
    block(x, x, out, 1);
    out.diagonal().setConstant(variance_);
  }

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out.setConstant(x.rows(), variance_);
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int /*threads*/) const override {
    check_weights(x, x, weights);
    return Vector::Constant(1, 2.0 * variance_ * weights.trace());
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights,
                                int /*threads*/) const override {
    check_weights(x, z, weights);
    return Vector::Zero(1);
  }

  [[nodiscard]] std::string_view without_input_gradient() const override { return {}; }
  [[nodiscard]] Matrix input_gradient(const Matrix& x, const Matrix& z, const Matrix& weights,
                                      int /*threads*/) const override {
    check_weights(x, z, weights);
    return Matrix::Zero(z.rows(), z.cols());
  }

 private:
  double variance_;
};

}  // namespace

const Family& white_family() {
  static const Family family{{"white",
                              "signal_sd^2 if x and x' are the same row, else 0",
                              "independent noise on every row",
                              {{"signal_sd", 1.0, false, "standard deviation of the noise"}}},
                             [](const Family& self, ArgumentValues values) -> KernelHandle {
                               return std::make_shared<White>(self, std::move(values));
                             }};
  return family;
}

}  // namespace gaussmith
