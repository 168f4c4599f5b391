// signal_sd^2 x'x': straight lines through the origin.
#include "kernels/strip_kernel.hpp"
#include "kernels/strips.hpp"

#include <utility>

namespace gaussmith {

namespace {

class Linear final : public StripKernel {
 public:
  Linear(const Family& family, ArgumentValues values)
      : StripKernel(family, std::move(values)), variance_(value(0) * value(0)) {}

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out = variance_ * x.rowwise().squaredNorm();
  }

  [[nodiscard]] std::string_view without_input_gradient() const override { return {}; }

 private:
  [[nodiscard]] FillStrip filler(const Matrix& x, const Matrix& z) const override {
    return [&x, points = Matrix(variance_ * z.transpose())](Index column, Index first, Span out) {
      inner_products(x, first, column_view(points, column), 0.0, out);
    };
  }

  [[nodiscard]] Contraction contraction(const Matrix& x, const Matrix& z) const override {
    return {1, [&x, points = Matrix(2.0 * variance_ * z.transpose())](const WeightedStrip& strip, Vector& gradient) {
              const Span products = column_head(strip.scratch, 0, strip.weights.size());
              inner_products(x, strip.first, column_view(points, strip.column), 0.0, products);
              gradient[0] += weighted_sum(strip.weights, products);
            }};
  }

  [[nodiscard]] PointContraction point_contraction(const Matrix& x, const Matrix& /*z*/) const override {
    return {0, [this, &x](const WeightedStrip& strip, Span gradient) {
              for (std::size_t c = 0; c < gradient.size(); ++c)
                gradient[c] += variance_ * weighted_sum(strip.weights,
                                                        {&x(strip.first, static_cast<Index>(c)), strip.weights.size()});
            }};
  }

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
