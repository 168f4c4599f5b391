#include "trust/line_marginal.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gaussmith {

namespace {

constexpr double step = 0.25;
/// Away from the middle the function is smoother than it matters.
constexpr double wide_from = 5.0;
constexpr double furthest = 40.0;
/// Where the density has fallen by this it ends.
constexpr double depth = 32.0;
constexpr int nodes_per_unit = 128;
constexpr int grid_stride = 16;

/// A natural cubic spline.
class Spline {
 public:
  Spline(std::vector<double> x, std::vector<double> y) : x_(std::move(x)), y_(std::move(y)), bend_(x_.size(), 0.0) {
    const std::size_t n = x_.size();
    std::vector<double> right(n, 0.0);
    for (std::size_t i = 1; i + 1 < n; ++i) {
      const double before = x_[i] - x_[i - 1];
      const double after = x_[i + 1] - x_[i];
      const double share = before / (before + after);
      const double pivot = share * bend_[i - 1] + 2.0;
      bend_[i] = (share - 1.0) / pivot;
      const double turn = (y_[i + 1] - y_[i]) / after - (y_[i] - y_[i - 1]) / before;
      right[i] = (6.0 * turn / (before + after) - share * right[i - 1]) / pivot;
    }
    if (n > 0) bend_[n - 1] = 0.0;
    for (std::size_t i = n; i-- > 1;) bend_[i - 1] = i == 1 ? 0.0 : bend_[i - 1] * bend_[i] + right[i - 1];
  }

  [[nodiscard]] double operator()(double x) const {
    auto it = std::upper_bound(x_.begin(), x_.end(), x);
    const auto high = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(it - x_.begin(), 1, static_cast<std::ptrdiff_t>(x_.size()) - 1));
    const double width = x_[high] - x_[high - 1];
    const double a = (x_[high] - x) / width;
    const double b = 1.0 - a;
    return a * y_[high - 1] + b * y_[high] +
           ((a * a * a - a) * bend_[high - 1] + (b * b * b - b) * bend_[high]) * width * width / 6.0;
  }

 private:
  std::vector<double> x_, y_, bend_;
};

/// Knots on one side of 0, without it.
std::vector<std::pair<double, double>> walk(double sign, double at_zero, const std::function<double(double)>& h,
                                            bool& settled) {
  std::vector<std::pair<double, double>> knots;
  double most = at_zero;
  for (double alpha = step; alpha <= furthest; alpha += alpha < wide_from ? step : 2.0 * step) {
    const double value = h(sign * alpha);
    if (!std::isfinite(value)) {
      settled = false;
      break;
    }
    knots.emplace_back(sign * alpha, value);
    const double log_density = value - 0.5 * alpha * alpha;
    most = std::max(most, log_density);
    if (log_density < most - depth) break;
  }
  return knots;
}

}  // namespace

CorrectedMarginal line_marginal(double mean, double sd, const std::vector<double>& levels,
                                const std::function<double(double)>& h, const std::function<void()>& restart) {
  CorrectedMarginal out;
  restart();
  const double at_zero = h(0.0);
  out.settled = std::isfinite(at_zero);
  std::vector<std::pair<double, double>> knots;
  if (out.settled) {
    restart();
    knots = walk(-1.0, at_zero, h, out.settled);
    std::reverse(knots.begin(), knots.end());
    knots.emplace_back(0.0, at_zero);
    restart();
    const auto right = walk(1.0, at_zero, h, out.settled);
    knots.insert(knots.end(), right.begin(), right.end());
  }
  // A density that cannot be followed is left as the Gaussian was, and says so.
  if (knots.size() < 3) {
    knots = {{-8.0, 0.0}, {0.0, 0.0}, {8.0, 0.0}};
    out.settled = false;
  }
  std::vector<double> places;
  std::vector<double> values;
  for (const auto& [place, value] : knots) {
    places.push_back(place);
    values.push_back(value - at_zero);
  }
  const double low = places.front();
  const double high = places.back();
  const Spline spline(places, values);
  const auto count = static_cast<Index>(std::lround((high - low) * nodes_per_unit)) + 1;
  const Vector alpha = Vector::LinSpaced(count, low, high);
  Vector density(count);
  for (Index i = 0; i < count; ++i) density(i) = spline(alpha(i)) - 0.5 * alpha(i) * alpha(i);
  density = (density.array() - density.maxCoeff()).exp();
  const double width = (high - low) / static_cast<double>(count - 1);
  density /= width * density.sum();
  // The ends hold next to nothing, so that sums are as good as integrals.
  const double centre = width * density.dot(alpha);
  const Vector away = alpha.array() - centre;
  const double variance = width * density.dot(away.array().square().matrix());
  out.mean = mean + sd * centre;
  out.sd = sd * std::sqrt(variance);
  out.skewness = width * density.dot(away.array().cube().matrix()) / std::pow(variance, 1.5);
  // P(x <= ...) by the trapezoid with the correction of its ends, and its inverse by the cubic that has the density as
  // its slope.
  Vector below(count);
  below(0) = 0.0;
  for (Index i = 1; i < count; ++i) {
    const double rise_before = i > 1 ? density(i) - density(i - 2) : 2.0 * (density(i) - density(i - 1));
    const double rise = i + 1 < count ? density(i + 1) - density(i - 1) : 2.0 * (density(i) - density(i - 1));
    below(i) = below(i - 1) + width * (0.5 * (density(i) + density(i - 1)) + (rise_before - rise) / 24.0);
  }
  below /= below(count - 1);
  out.quantiles.resize(static_cast<Index>(levels.size()));
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const double level = levels[k];
    Index i = std::upper_bound(below.begin(), below.end(), level) - below.begin();
    i = std::clamp<Index>(i, 1, count - 1);
    double inside_low = 0.0;
    double inside_high = 1.0;
    const auto cubic = [&](double t) {
      const double u = 1.0 - t;
      return below(i - 1) * u * u * (1.0 + 2.0 * t) + below(i) * t * t * (3.0 - 2.0 * t) +
             width * t * u * (density(i - 1) * u - density(i) * t);
    };
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = 0.5 * (inside_low + inside_high);
      (cubic(middle) < level ? inside_low : inside_high) = middle;
    }
    out.quantiles(static_cast<Index>(k)) = mean + sd * (alpha(i - 1) + width * inside_low);
  }
  const Index points = (count - 1) / grid_stride + 1;
  out.grid.resize(points);
  out.density.resize(points);
  for (Index i = 0; i < points; ++i) {
    out.grid(i) = mean + sd * alpha(i * grid_stride);
    out.density(i) = density(i * grid_stride) / sd;
  }
  return out;
}

}  // namespace gaussmith
