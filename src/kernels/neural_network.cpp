// signal_sd^2 (2/pi) asin(2 b/sqrt((1 + 2 a)(1 + 2 c))) with a = <x, x>, b = <x, x'>, c = <x', x'> and
// <x, x'> = bias_sd^2 + sum_j weight_sd_j^2 x_j x'_j: infinitely many erf units (Williams 1998).
// At x = x' = 0 and bias_sd^2 = 1/2 it is signal_sd^2/3.
#include "kernels/strip_kernel.hpp"
#include "kernels/strips.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace gaussmith {

namespace {

constexpr std::size_t signal_index = 0, weight_index = 1, bias_index = 2;

// Rounding can carry the ratio past 1 for long, nearly parallel inputs.
double arc_sine(double ratio) { return std::asin(std::clamp(ratio, -1.0, 1.0)); }

class NeuralNetwork final : public StripKernel {
 public:
  NeuralNetwork(const Family& family, ArgumentValues values)
      : StripKernel(family, std::move(values)),
        factor_(value(signal_index) * value(signal_index) * 2.0 / std::numbers::pi),
        bias_variance_(value(bias_index) * value(bias_index)) {}

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out =
        doubled_squares(x).unaryExpr([this](double doubled) { return factor_ * arc_sine(doubled / (1.0 + doubled)); });
  }

 private:
  [[nodiscard]] Vector weight_variances(Index columns) const {
    const std::vector<double> sd = per_column(weight_index, columns);
    return Eigen::Map<const Vector>(sd.data(), columns).array().square();
  }

  // 2 <x_i, x_i>.
  [[nodiscard]] Vector doubled_squares(const Matrix& x) const {
    return (2.0 * (x.array().square().matrix() * weight_variances(x.cols()))).array() + 2.0 * bias_variance_;
  }

  // 1 + 2 <x_i, x_i>.
  [[nodiscard]] Vector norms(const Matrix& x) const { return doubled_squares(x).array() + 1.0; }

  // d x M, point j scaled by the weight variances in column j.
  [[nodiscard]] Matrix weighted_points(const Matrix& z) const {
    return weight_variances(z.cols()).asDiagonal() * z.transpose();
  }

  // h_p(x_i) of every weight p.
  [[nodiscard]] Matrix shares(const Matrix& x) const {
    return (x.array().square().colwise() / norms(x).array()).matrix() * weight_variances(x.cols()).asDiagonal();
  }

  [[nodiscard]] FillStrip filler(const Matrix& x, const Matrix& z) const override {
    return [this, &x, x_norms = norms(x), z_norms = norms(z), points = weighted_points(z)](Index column, Index first,
                                                                                           Span out) {
      inner_products(x, first, column_view(points, column), bias_variance_, out);
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double root = std::sqrt(x_norms[first + static_cast<Index>(i)] * z_norms[column]);
        out[i] = factor_ * arc_sine(2.0 * out[i] / root);
      }
    };
  }

  // With ratio the argument of asin, h_p(x) = p^2 x_p^2/(1 + 2 a) and x_bias = 1:
  // d k/d log p = factor 2 [2 p^2 x_p x'_p/sqrt((1 + 2 a)(1 + 2 c)) - ratio (h_p(x) + h_p(x'))]/sqrt(1 - ratio^2).
  [[nodiscard]] Contraction contraction(const Matrix& x, const Matrix& z) const override {
    const bool ard = values(weight_index).size() > 1;
    auto add = [this, &x, ard, x_norms = norms(x), z_norms = norms(z), points = weighted_points(z),
                x_shares = shares(x), z_shares = shares(z)](const WeightedStrip& strip, Vector& gradient) {
      const std::size_t count = strip.weights.size();
      const Span ratio = column_head(strip.scratch, 0, count);
      const Span outer = column_head(strip.scratch, 1, count);
      const Span inner = column_head(strip.scratch, 2, count);
      inner_products(x, strip.first, column_view(points, strip.column), bias_variance_, ratio);
      const double point_norm = z_norms[strip.column];
      double total = 0.0, total_outer = 0.0, total_inner = 0.0, total_share = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double norm = x_norms[strip.first + static_cast<Index>(i)];
        const double root = std::sqrt(norm * point_norm);
        ratio[i] *= 2.0 / root;
        total += strip.weights[i] * arc_sine(ratio[i]);
        // (1 + 2 a)(1 + 2 c) - 4 b^2 >= 1 + 2 a + 2 c: the bound keeps a rounded ratio of 1 from dividing by 0.
        const double rest =
            std::max(1.0 - ratio[i] * ratio[i], (1.0 / norm) + (1.0 / point_norm) - 1.0 / (norm * point_norm));
        const double slope = strip.weights[i] / std::sqrt(rest);
        inner[i] = 2.0 * slope / root;
        outer[i] = slope * ratio[i];
        total_inner += inner[i];
        total_outer += outer[i];
        total_share += outer[i] / norm;
      }
      gradient[first_parameter(signal_index)] += 2.0 * factor_ * total;
      gradient[first_parameter(bias_index)] +=
          2.0 * factor_ * bias_variance_ * (total_inner - total_share - total_outer / point_norm);
      for (Index c = 0; c < x.cols(); ++c) {
        const ConstSpan x_column(&x(strip.first, c), count);
        const ConstSpan share(&x_shares(strip.first, c), count);
        gradient[first_parameter(weight_index) + (ard ? c : 0)] +=
            2.0 * factor_ *
            (points(c, strip.column) * weighted_sum(inner, x_column) - weighted_sum(outer, share) -
             z_shares(strip.column, c) * total_outer);
      }
    };
    return {3, std::move(add)};
  }

  double factor_;
  double bias_variance_;
};

}  // namespace

const Family& neural_network_family() {
  static const Family family{
      {"neural-network",
       "signal_sd^2 (2/pi) asin(2 <x,x'>/sqrt((1 + 2 <x,x>)(1 + 2 <x',x'>))), <x,x'> = bias_sd^2 + sum_j weight_sd_j^2 "
       "x_j x'_j",
       "functions of an infinite layer of sigmoid units: steps that saturate",
       {{"signal_sd", 1.0, false, "standard deviation of the function at saturation"},
        {"weight_sd", 1.0, true, "standard deviation of input weights; one value, or one for each column"},
        {"bias_sd", 1.0, false, "standard deviation of biases"}}},
      [](const Family& self, ArgumentValues values) -> KernelHandle {
        return std::make_shared<NeuralNetwork>(self, std::move(values));
      }};
  return family;
}

}  // namespace gaussmith
