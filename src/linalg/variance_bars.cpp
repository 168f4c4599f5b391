#include "linalg/variance_bars.hpp"

#include <algorithm>
#include <cmath>

namespace gaussmith {

namespace {

/// 99 % of a normal distribution lie below. 95 % are claimed; the distance, a tenth of the bar, is for what is
/// approximate: f and s are estimates themselves, and means of few squares are skew.
constexpr double bar_quantile = 2.33;
/// An error of ten standard errors means that nothing is known.
constexpr double largest_bar_ratio = 100.0;

/// The quantile of F(a, b) by cube roots that are about normal (Wilson and Hilferty; Paulson): within 5 % from a = 1,
/// b = 3 on.
double f_quantile(double a, double b) {
  const double u = 2.0 / (9.0 * a);
  const double v = 2.0 / (9.0 * b);
  const double z = bar_quantile;
  const double bottom = (1.0 - v) * (1.0 - v) - z * z * v;
  if (bottom <= 0.0) return largest_bar_ratio;
  const double spread = (1.0 - u) * (1.0 - u) * v + (1.0 - v) * (1.0 - v) * u - z * z * u * v;
  const double root = ((1.0 - u) * (1.0 - v) + z * std::sqrt(std::max(0.0, spread))) / bottom;
  return std::min(largest_bar_ratio, root * root * root);
}

}  // namespace

double relative_error_bar(const Matrix& deviations, double variance, Index known) {
  const Index repetitions = deviations.cols();
  const auto items = static_cast<double>(deviations.rows());
  if (deviations.rows() == 0 || variance == 0.0) return 0.0;
  const Matrix gram = deviations.transpose() * deviations / items;
  const auto count = static_cast<double>(repetitions);
  double pairs = 0.0;
  for (Index k = 0; k < repetitions; ++k)
    for (Index l = 0; l < k; ++l) pairs += gram(k, l) * gram(k, l);
  // var(R^2) = 2 tr C^2 / K^2 from pairs of repetitions, and var(|g|^2) / K^3 from single ones that err as a whole.
  const double lengths = (gram.diagonal().array() - gram.diagonal().mean()).square().sum() / (count - 1.0);
  const double squares = 2.0 * pairs / (count * (count - 1.0)) + 0.5 * lengths / count;
  const double spread = gram.trace() / (count - 1.0);
  const double freedom = squares > 0.0 ? std::clamp(spread * spread / squares, 1.0, items) : 1.0;
  const double ratio = f_quantile(freedom, freedom * static_cast<double>(known));
  return std::sqrt(variance / count * ratio);
}

}  // namespace gaussmith
