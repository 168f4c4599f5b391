// signal_sd^2 for every pair: one unknown level.
#include "kernels/named_kernel.hpp"

#include <utility>

namespace gaussmith {

namespace {

class Constant final : public NamedKernel {
 public:
  Constant(const Family& family, ArgumentValues values)
      : NamedKernel(family, std::move(values)), variance_(value(0) * value(0)) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int /*threads*/) const override {
    check_inputs(x, z);
    out.setConstant(x.rows(), z.rows(), variance_);
  }

  void gram(const Matrix& x, Matrix& out, int threads) const override { block(x, x, out, threads); }

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out.setConstant(x.rows(), variance_);
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int /*threads*/) const override {
    check_weights(x, x, weights);
    double total = weights.diagonal().sum();
    for (Index j = 0; j < weights.cols(); ++j) total += 2.0 * weights.col(j).tail(weights.rows() - j - 1).sum();
    return Vector::Constant(1, 2.0 * variance_ * total);
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& z, const Matrix& weights,
                                int /*threads*/) const override {
    check_weights(x, z, weights);
    return Vector::Constant(1, 2.0 * variance_ * weights.sum());
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

const Family& constant_family() {
  static const Family family{
      {"constant", "signal_sd^2", "one unknown level", {{"signal_sd", 1.0, false, "standard deviation of the level"}}},
      [](const Family& self, ArgumentValues values) -> KernelHandle {
        return std::make_shared<Constant>(self, std::move(values));
      }};
  return family;
}

}  // namespace gaussmith
