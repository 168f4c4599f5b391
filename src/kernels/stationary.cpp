#include "kernels/stationary.hpp"

#include "kernels/strip_kernel.hpp"
#include "kernels/strips.hpp"

#include <utility>

namespace gaussmith {

namespace {

constexpr std::size_t signal_index = 0, lengthscale_index = 1, shape_index = 2;

class Stationary final : public StripKernel {
 public:
  Stationary(const Family& family, const Profile& of_distance, ArgumentValues values)
      : StripKernel(family, std::move(values)),
        profile_(of_distance),
        variance_(value(signal_index) * value(signal_index)),
        has_shape_(family.info.arguments.size() > shape_index),
        shape_(has_shape_ ? value(shape_index) : 0.0) {}

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out.setConstant(x.rows(), variance_);
  }

  [[nodiscard]] std::string_view without_input_gradient() const override {
    return profile_.smooth ? std::string_view() : name();
  }

 private:
  /// Columns of scratch beside one for each input column.
  static constexpr Index fixed_columns = 4;

  [[nodiscard]] std::vector<double> inverse_lengthscales(Index columns) const {
    std::vector<double> inverse = per_column(lengthscale_index, columns);
    for (double& scale : inverse) scale = 1.0 / scale;
    return inverse;
  }

  [[nodiscard]] FillStrip filler(const Matrix& x, const Matrix& z) const override {
    return [this, &x, points = Matrix(z.transpose()), inverse = inverse_lengthscales(x.cols())](Index column,
                                                                                                Index first, Span out) {
      squared_distances(x, first, column_view(points, column), inverse, out);
      profile_.correlation(shape_, out, out);
      scale(variance_, out);
    };
  }

  [[nodiscard]] Contraction contraction(const Matrix& x, const Matrix& z) const override {
    const bool ard = values(lengthscale_index).size() > 1;
    auto add = [this, &x, ard, points = Matrix(z.transpose()), inverse = inverse_lengthscales(x.cols())](
                   const WeightedStrip& strip, Vector& gradient) {
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
          gradient[first_parameter(lengthscale_index) + c] -=
              2.0 * variance_ * weighted_sum(slope, column_head(strip.scratch, fixed_columns + c, count));
        }
      } else {
        gradient[first_parameter(lengthscale_index)] -= 2.0 * variance_ * weighted_sum(slope, squares);
      }
      if (has_shape_) gradient[first_parameter(shape_index)] += variance_ * weighted_sum(strip.weights, shape_slope);
    };
    return {fixed_columns + (ard ? x.cols() : 0), std::move(add)};
  }

  [[nodiscard]] PointContraction point_contraction(const Matrix& x, const Matrix& z) const override {
    auto add = [this, &x, points = Matrix(z.transpose()), inverse = inverse_lengthscales(x.cols())](
                   const WeightedStrip& strip, Span gradient) {
      const std::size_t count = strip.weights.size();
      const Span squares = column_head(strip.scratch, 0, count);
      const Span rho = column_head(strip.scratch, 1, count);
      const Span slope = column_head(strip.scratch, 2, count);
      const Span shape_slope = column_head(strip.scratch, 3, has_shape_ ? count : 0);
      const ConstSpan point = column_view(points, strip.column);
      squared_distances(x, strip.first, point, inverse, squares);
      profile_.derivatives(shape_, squares, rho, slope, shape_slope);
      multiply(strip.weights, slope, slope);
      // d r^2/d x'_j = -2 (x_j - x'_j)/lengthscale_j^2.
      for (std::size_t c = 0; c < gradient.size(); ++c)
        gradient[c] -= 2.0 * variance_ * inverse[c] * inverse[c] *
                       weighted_differences(slope, {&x(strip.first, static_cast<Index>(c)), count}, point[c]);
    };
    return {fixed_columns, std::move(add)};
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
