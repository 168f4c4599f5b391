#include "kernels/stationary.hpp"

#include "kernels/named_kernel.hpp"
#include "kernels/panels.hpp"
#include "kernels/strips.hpp"

#include <utility>

namespace gaussmith {

namespace {

constexpr std::size_t signal_index = 0, lengthscale_index = 1, shape_index = 2;

class Stationary final : public NamedKernel {
 public:
  Stationary(const Family& family, const Profile& profile, ArgumentValues values)
      : NamedKernel(family, std::move(values)),
        profile_(profile),
        variance_(value(signal_index) * value(signal_index)),
        has_shape_(family.info.arguments.size() > shape_index),
        shape_(has_shape_ ? value(shape_index) : 0.0) {}

  void block(const Matrix& x, const Matrix& z, Matrix& out, int threads) const override {
    check_inputs(x, z);
    fill_rectangle(x.rows(), z.rows(), threads, out, strip_filler(x, z.transpose()));
  }

  void gram(const Matrix& x, Matrix& out, int threads) const override {
    check_dimension(x.cols());
    fill_symmetric(x.rows(), threads, out, strip_filler(x, x.transpose()));
  }

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out.setConstant(x.rows(), variance_);
  }

  [[nodiscard]] Vector contract(const Matrix& x, const Matrix& weights, int threads) const override {
    check_weights(x, weights);
    const bool ard = values(lengthscale_index).size() > 1;
    const Matrix points = x.transpose();
    const std::vector<double> inverse = inverse_lengthscales(x.cols());
    const Index fixed_columns = 4;
    const Index first_lengthscale = first_parameter(lengthscale_index);

    const auto add = [&](const WeightedStrip& strip, Vector& gradient) {
      const std::size_t count = strip.weights.size();
      const Span squares = column_head(strip.scratch, 0, count);
      const Span rho = column_head(strip.scratch, 1, count);
      const Span slope = column_head(strip.scratch, 2, count);
      const Span shape_slope = column_head(strip.scratch, 3, has_shape_ ? count : 0);
      if (ard) {
        squared_distance_parts(x, strip.first, column_view(points, strip.column), inverse, squares,
                               strip.scratch.rightCols(x.cols()));
      } else {
        squared_distances(x, strip.first, column_view(points, strip.column), inverse, squares);
      }
      profile_.derivatives(shape_, squares, rho, slope, shape_slope);

      gradient[first_parameter(signal_index)] += 2.0 * variance_ * weighted_sum(strip.weights, rho);
      // d r^2/d log(lengthscale_j) = -2 ((x_j - x'_j)/lengthscale_j)^2.
      multiply(strip.weights, slope, slope);
      if (ard) {
        for (Index c = 0; c < x.cols(); ++c) {
          gradient[first_lengthscale + c] -=
              2.0 * variance_ * weighted_sum(slope, column_head(strip.scratch, fixed_columns + c, count));
        }
      } else {
        gradient[first_lengthscale] -= 2.0 * variance_ * weighted_sum(slope, squares);
      }
      if (has_shape_) gradient[first_parameter(shape_index)] += variance_ * weighted_sum(strip.weights, shape_slope);
    };
    return sum_symmetric(weights, threads, parameter_count(), fixed_columns + (ard ? x.cols() : 0), add);
  }

 private:
  [[nodiscard]] std::vector<double> inverse_lengthscales(Index columns) const {
    std::vector<double> inverse = per_column(lengthscale_index, columns);
    for (double& scale : inverse) scale = 1.0 / scale;
    return inverse;
  }

  // x is referred to and must outlive the result; points (d x M, one a column) are kept.
  [[nodiscard]] FillStrip strip_filler(const Matrix& x, Matrix points) const {
    return [this, &x, points = std::move(points), inverse = inverse_lengthscales(x.cols())](Index column, Index first,
                                                                                            Span out) {
      squared_distances(x, first, column_view(points, column), inverse, out);
      profile_.correlation(shape_, out, out);
      scale(variance_, out);
    };
  }

  const Profile& profile_;
  double variance_;
  bool has_shape_;
  double shape_;
};

}  // namespace

std::vector<KernelArgumentInfo> stationary_arguments() {
  return {{"signal_sd", 1.0, false, "standard deviation of the function"},
          {"lengthscale", 1.0, true, "distance over which the function changes; one value, or one for each column"}};
}

std::vector<KernelArgumentInfo> stationary_arguments(const KernelArgumentInfo& shape) {
  std::vector<KernelArgumentInfo> all = stationary_arguments();
  all.push_back(shape);
  return all;
}

KernelHandle make_stationary(const Family& family, const Profile& profile, ArgumentValues values) {
  return std::make_shared<Stationary>(family, profile, std::move(values));
}

}  // namespace gaussmith
