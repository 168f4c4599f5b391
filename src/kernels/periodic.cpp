// signal_sd^2 exp(-2 sum_j sin^2(pi (x_j - x'_j)/period)/lengthscale_j^2).
//
// With the circle u_j(x) = (cos, sin)(2 pi x_j/period), |u_j(x) - u_j(x')|^2 = 4 sin^2(pi (x_j - x'_j)/period): a
// squared exponential on 2 d warped inputs. Trigonometry then costs O(N d) instead of O(N^2 d).
#include "base/vectorised.hpp"
#include "kernels/strip_kernel.hpp"
#include "kernels/strips.hpp"
#include "numerics/batch.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

constexpr std::size_t signal_index = 0, lengthscale_index = 1, period_index = 2;

// Keeps products of huge differences and vanishing covariances at 0 instead of inf * 0.
// Written with plain comparisons because std::clamp, which returns a reference, keeps the loop from vectorising.
inline double cut(double value, double limit) {
  const double below = value < limit ? value : limit;
  return below > -limit ? below : -limit;
}

// One input column: the inputs and their points on the circle.
struct Turn {
  const double* x;
  const double* cosine;
  const double* sine;
};

// turning[i] += factor (x_i - x') sin(2 pi (x_i - x')/period), the sine from the points on the circle.
GAUSSMITH_VECTORISED
void add_turns(const Turn& rows, const Turn& point, double factor, Index count, double* __restrict turning) {
  const double x = *point.x, cosine = *point.cosine, sine = *point.sine;
  const double* __restrict xs = rows.x;
  const double* __restrict cosines = rows.cosine;
  const double* __restrict sines = rows.sine;
  for (Index i = 0; i < count; ++i) {
    const double turn = factor * (cut(xs[i] - x, 1e100) * (sines[i] * cosine - cosines[i] * sine));
    turning[i] += cut(turn, farthest_square);
  }
}

class Periodic final : public StripKernel {
 public:
  Periodic(const Family& family, ArgumentValues values)
      : StripKernel(family, std::move(values)),
        variance_(value(signal_index) * value(signal_index)),
        period_(value(period_index)) {}

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out.setConstant(x.rows(), variance_);
  }

  [[nodiscard]] std::string_view without_input_gradient() const override { return {}; }

 private:
  /// Columns of scratch beside two for each input column.
  static constexpr Index fixed_columns = 3;

  // Columns 2 c and 2 c + 1 are cosine and sine of 2 pi x(., c)/period. The remainder is exact, so a large offset of
  // the inputs costs no digits.
  [[nodiscard]] Matrix on_circles(const Matrix& x) const {
    Matrix circles(x.rows(), 2 * x.cols());
    for (Index c = 0; c < x.cols(); ++c) {
      for (Index i = 0; i < x.rows(); ++i) {
        const double angle = 2.0 * std::numbers::pi * (std::remainder(x(i, c), period_) / period_);
        circles(i, 2 * c) = std::cos(angle);
        circles(i, 2 * c + 1) = std::sin(angle);
      }
    }
    return circles;
  }

  [[nodiscard]] std::vector<double> inverse_scales(Index columns) const {
    std::vector<double> inverse;
    for (const double lengthscale : per_column(lengthscale_index, columns))
      inverse.insert(inverse.end(), 2, 1.0 / lengthscale);
    return inverse;
  }

  // 2 d x M, one point a column; `circles` are those of x.
  [[nodiscard]] Matrix points_on_circles(const Matrix& circles, const Matrix& x, const Matrix& z) const {
    return (&x == &z ? circles : on_circles(z)).transpose();
  }

  [[nodiscard]] FillStrip filler(const Matrix& x, const Matrix& z) const override {
    Matrix circles = on_circles(x);
    Matrix points = points_on_circles(circles, x, z);
    return [this, circles = std::move(circles), points = std::move(points), inverse = inverse_scales(x.cols())](
               Index column, Index first, Span out) {
      squared_distances(circles, first, column_view(points, column), inverse, out);
      scale(-0.5, out);
      batch::exp(out, out);
      scale(variance_, out);
    };
  }

  [[nodiscard]] Contraction contraction(const Matrix& x, const Matrix& z) const override {
    const bool ard = values(lengthscale_index).size() > 1;
    Matrix circles = on_circles(x);
    Matrix points = points_on_circles(circles, x, z);
    auto add = [this, &x, &z, ard, circles = std::move(circles), points = std::move(points),
                inverse = inverse_scales(x.cols())](const WeightedStrip& strip, Vector& gradient) {
      const std::size_t count = strip.weights.size();
      const Span squares = column_head(strip.scratch, 0, count);
      const Span covariance = column_head(strip.scratch, 1, count);
      const Span turning = column_head(strip.scratch, 2, count);
      const ConstSpan point = column_view(points, strip.column);
      squared_distance_parts(circles, strip.first, point, inverse, squares, strip.scratch.rightCols(2 * x.cols()));
      for (std::size_t i = 0; i < count; ++i) covariance[i] = -0.5 * squares[i];
      batch::exp(covariance, covariance);
      for (std::size_t i = 0; i < count; ++i) covariance[i] *= variance_ * strip.weights[i];

      for (std::size_t i = 0; i < count; ++i) turning[i] = 1.0;
      gradient[first_parameter(signal_index)] += 2.0 * weighted_sum(covariance, turning);
      for (Index c = 0; c < x.cols(); ++c) {
        gradient[first_parameter(lengthscale_index) + (ard ? c : 0)] +=
            weighted_sum(covariance, column_head(strip.scratch, fixed_columns + 2 * c, count)) +
            weighted_sum(covariance, column_head(strip.scratch, fixed_columns + 2 * c + 1, count));
      }
      // d(-2 sin^2(t/2))/d log(period) = t sin t with t = 2 pi (x_j - x'_j)/period.
      for (std::size_t i = 0; i < count; ++i) turning[i] = 0.0;
      for (Index c = 0; c < x.cols(); ++c) {
        const double inverse_c = inverse[static_cast<std::size_t>(2 * c)];
        const double factor = 2.0 * std::numbers::pi / period_ * inverse_c * inverse_c;
        add_turns(
            {&x(strip.first, c), &circles(strip.first, 2 * c), &circles(strip.first, 2 * c + 1)},
            {&z(strip.column, c), &point[static_cast<std::size_t>(2 * c)], &point[static_cast<std::size_t>(2 * c + 1)]},
            factor, static_cast<Index>(count), turning.data());
      }
      gradient[first_parameter(period_index)] += weighted_sum(covariance, turning);
    };
    return {fixed_columns + 2 * x.cols(), std::move(add)};
  }

  [[nodiscard]] PointContraction point_contraction(const Matrix& x, const Matrix& z) const override {
    Matrix circles = on_circles(x);
    Matrix points = points_on_circles(circles, x, z);
    auto add = [this, circles = std::move(circles), points = std::move(points), inverse = inverse_scales(x.cols())](
                   const WeightedStrip& strip, Span gradient) {
      const std::size_t count = strip.weights.size();
      const Span covariance = column_head(strip.scratch, 0, count);
      const ConstSpan point = column_view(points, strip.column);
      squared_distances(circles, strip.first, point, inverse, covariance);
      scale(-0.5, covariance);
      batch::exp(covariance, covariance);
      multiply(strip.weights, covariance, covariance);
      // d(-2 sin^2(t/2))/dx' = (2 pi/period) sin t, the sine from the points on the circle.
      for (std::size_t c = 0; c < gradient.size(); ++c) {
        const auto column = static_cast<Index>(2 * c);
        const double turn = weighted_sum(covariance, {&circles(strip.first, column + 1), count}) * point[2 * c] -
                            weighted_sum(covariance, {&circles(strip.first, column), count}) * point[2 * c + 1];
        gradient[c] += 2.0 * std::numbers::pi / period_ * variance_ * inverse[2 * c] * inverse[2 * c] * turn;
      }
    };
    return {1, std::move(add)};
  }

  double variance_;
  double period_;
};

}  // namespace

const Family& periodic_family() {
  static const Family family{
      {"periodic",
       "signal_sd^2 exp(-2 sum_j sin^2(pi (x_j - x'_j)/period)/lengthscale_j^2)",
       "smooth functions that repeat themselves",
       {{"signal_sd", 1.0, false, "standard deviation of the function"},
        {"lengthscale", 1.0, true, "roughness within a period; one value, or one for each column"},
        {"period", 1.0, false, "distance after which the function repeats, in every column"}}},
      [](const Family& self, ArgumentValues values) -> KernelHandle {
        return std::make_shared<Periodic>(self, std::move(values));
      }};
  return family;
}

}  // namespace gaussmith
