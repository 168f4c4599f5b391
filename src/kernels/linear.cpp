// signal_sd^2 x'x': straight lines through the origin.
#include "kernels/named_kernel.hpp"
#include "kernels/panels.hpp"
#include "kernels/strips.hpp"

#include <utility>

namespace gaussmith {

namespace {

class Linear final : public NamedKernel {
 public:
  Linear(const Family& family, ArgumentValues values)
      : NamedKernel(family, std::move(values)), variance_(value(0) * value(0)) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const override {
    check_inputs(x, z);
    const Matrix points = variance_ * z.transpose();
    fill_rectangle(x.rows(), z.rows(), threads, out, [&](Index column, Index first, Span strip) {
      inner_products(x, first, column_view(points, column), 0.0, strip);
    });
  }

  void gram(const Matrix& x, Matrix& out, int threads) const override {
    check_dimension(x.cols());
    const Matrix points = variance_ * x.transpose();
    fill_symmetric(x.rows(), threads, out, [&](Index column, Index first, Span strip) {
      inner_products(x, first, column_view(points, column), 0.0, strip);
    });
  }

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out = variance_ * x.rowwise().squaredNorm();
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const override {
    check_weights(x, weights);
    const Matrix points = 2.0 * variance_ * x.transpose();
    return sum_symmetric(weights, threads, 1, 1, [&](const WeightedStrip& strip, Vector& gradient) {
      const Span products = column_head(strip.scratch, 0, strip.weights.size());
      inner_products(x, strip.first, column_view(points, strip.column), 0.0, products);
      gradient[0] += weighted_sum(strip.weights, products);
    });
  }

 private:
  double variance_;
};

}  // namespace

const Family& linear_family() {
  static const Family family{{"linear",
                              "signal_sd^2 sum_j x_j x'_j",
                              "linear functions through the origin",
                              {{"signal_sd", 1.0, false, "standard deviation of every slope"}}},
                             [](const Family& self, ArgumentValues values) -> KernelHandle {
                               return std::make_shared<Linear>(self, std::move(values));
                             }};
  return family;
}

}  // namespace gaussmith
