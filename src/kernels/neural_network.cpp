// signal_sd^2 (2/pi) asin(2 b/sqrt((1 + 2 a)(1 + 2 c))) with a = <x, x>, b = <x, x'>, c = <x', x'> and
// <x, x'> = bias_sd^2 + sum_j weight_sd_j^2 x_j x'_j: infinitely many erf units (Williams 1998).
// At x = x' = 0 and bias_sd^2 = 1/2 it is signal_sd^2/3.
#include "kernels/strip_kernel.hpp"
#include "kernels/strips.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace gaussmith {

namespace {

constexpr std::size_t signal_index = 0, weight_index = 1, bias_index = 2;

// asin(2 b/sqrt((1 + 2 a)(1 + 2 c))) = atan(2 b/sqrt(rest)) with rest = (1 + 2 a)(1 + 2 c) - 4 b^2, which is far from
// losing digits where the ratio is near 1: rest = 1 + 2 a + 2 c + 4 (a c - b^2), and the Gram determinant a c - b^2 of
// x and x' is that of x and e = x - x', a <e, e> - <x, e>^2.
double angle(double doubled_inner, double rest) { return std::atan2(doubled_inner, std::sqrt(rest)); }

class NeuralNetwork final : public StripKernel {
 public:
  NeuralNetwork(const Family& family, ArgumentValues values)
      : StripKernel(family, std::move(values)),
        factor_(value(signal_index) * value(signal_index) * 2.0 / std::numbers::pi),
        bias_variance_(value(bias_index) * value(bias_index)) {}

  void diagonal(const Matrix& x, Vector& out) const override {
    check_dimension(x.cols());
    out =
        doubled_squares(x).unaryExpr([this](double doubled) { return factor_ * angle(doubled, 1.0 + 2.0 * doubled); });
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

  // rest of every point of a strip of x with point `column` of z; `scratch` holds <x, e>.
  void rests(const Matrix& x, Index first, const Matrix& z, Index column, const Vector& variances,
             const Vector& x_norms, double z_norm, Span scratch, Span rest) const {
    std::fill(rest.begin(), rest.end(), 0.0);
    std::fill(scratch.begin(), scratch.end(), 0.0);
    for (Index c = 0; c < x.cols(); ++c) {
      const double at = z(column, c);
      const double weight = variances(c);
      const double* xs = &x(first, c);
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const double difference = xs[i] - at;
        rest[i] += weight * difference * difference;
        scratch[i] += weight * xs[i] * difference;
      }
    }
    for (std::size_t i = 0; i < rest.size(); ++i) {
      const double norm = x_norms[first + static_cast<Index>(i)];
      const double determinant = std::max(0.0, 0.5 * (norm - 1.0) * rest[i] - scratch[i] * scratch[i]);
      rest[i] = norm + z_norm - 1.0 + 4.0 * determinant;
    }
  }

  [[nodiscard]] FillStrip filler(const Matrix& x, const Matrix& z) const override {
    return [this, &x, &z, variances = weight_variances(x.cols()), x_norms = norms(x), z_norms = norms(z),
            points = weighted_points(z)](Index column, Index first, Span out) {
      inner_products(x, first, column_view(points, column), bias_variance_, out);
      std::vector<double> rest(out.size());
      std::vector<double> scratch(out.size());
      rests(x, first, z, column, variances, x_norms, z_norms[column], scratch, rest);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = factor_ * angle(2.0 * out[i], rest[i]);
    };
  }

  // With ratio the argument of asin, h_p(x) = p^2 x_p^2/(1 + 2 a) and x_bias = 1:
  // d k/d log p = factor 2 [2 p^2 x_p x'_p/sqrt((1 + 2 a)(1 + 2 c)) - ratio (h_p(x) + h_p(x'))]/sqrt(1 - ratio^2).
  [[nodiscard]] Contraction contraction(const Matrix& x, const Matrix& z) const override {
    const bool ard = values(weight_index).size() > 1;
    auto add = [this, &x, &z, ard, variances = weight_variances(x.cols()), x_norms = norms(x), z_norms = norms(z),
                points = weighted_points(z), x_shares = shares(x),
                z_shares = shares(z)](const WeightedStrip& strip, Vector& gradient) {
      const std::size_t count = strip.weights.size();
      const Span ratio = column_head(strip.scratch, 0, count);
      const Span outer = column_head(strip.scratch, 1, count);
      const Span inner = column_head(strip.scratch, 2, count);
      const Span rest = column_head(strip.scratch, 3, count);
      inner_products(x, strip.first, column_view(points, strip.column), bias_variance_, ratio);
      const double point_norm = z_norms[strip.column];
      rests(x, strip.first, z, strip.column, variances, x_norms, point_norm, inner, rest);
      double total = 0.0, total_outer = 0.0, total_inner = 0.0, total_share = 0.0;
      for (std::size_t i = 0; i < count; ++i) {
        const double norm = x_norms[strip.first + static_cast<Index>(i)];
        const double root = std::sqrt(norm * point_norm);
        total += strip.weights[i] * angle(2.0 * ratio[i], rest[i]);
        ratio[i] *= 2.0 / root;
        const double slope = strip.weights[i] * root / std::sqrt(rest[i]);
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
    return {4, std::move(add)};
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
