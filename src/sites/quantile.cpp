#include "sites/quantile.hpp"

#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gaussmith {

namespace {

// Where f, nondecreasing, crosses zero. A flat f that never crosses gives the last point tried.
double crossing(const std::function<double(double)>& f, double start, double step) {
  const double at_start = f(start);
  if (at_start == 0.0) return start;
  const double direction = at_start < 0.0 ? step : -step;
  double near = start, far = start;
  double f_near = at_start, f_far = at_start;
  constexpr int most_doublings = 200;
  for (int k = 0; k < most_doublings && f_far * at_start > 0.0; ++k) {
    near = far;
    f_near = f_far;
    far = start + direction * std::ldexp(1.0, k);
    f_far = f(far);
  }
  if (f_far * at_start > 0.0) return far;
  if (f_far == 0.0) return far;
  std::uintmax_t evaluations = 120;
  const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-13 * (std::abs(a) + std::abs(b)); };
  const auto [low, high] = near < far
                               ? boost::math::tools::toms748_solve(f, near, far, f_near, f_far, close, evaluations)
                               : boost::math::tools::toms748_solve(f, far, near, f_far, f_near, close, evaluations);
  return 0.5 * (low + high);
}

double count_crossing(const std::function<double(double)>& cdf, double level) {
  if (cdf(0.0) >= level) return 0.0;
  double low = 0.0, high = 1.0;
  // Ever larger factors: a mean of e^300 takes a dozen steps, not a thousand.
  for (double factor = 2.0; cdf(high) < level && high < 1e290; factor = std::min(factor * factor, 1e8)) {
    low = high;
    high *= factor;
  }
  for (;;) {
    const double middle =
        std::floor(high > 4.0 * low && low > 0.0 ? std::sqrt(low) * std::sqrt(high) : 0.5 * (low + high));
    if (middle <= low || middle >= high) return high;
    (cdf(middle) >= level ? high : low) = middle;
  }
}

}  // namespace

double response_quantile_of(ResponseKind kind, const std::function<double(double)>& cdf, double level, double start,
                            double step) {
  switch (kind) {
    case ResponseKind::sign:
      return cdf(-1.0) >= level ? -1.0 : 1.0;
    case ResponseKind::count:
    case ResponseKind::label:
      return count_crossing(cdf, level);
    case ResponseKind::positive:
      // |log y| <= 700 keeps e^x finite and positive.
      return std::exp(
          crossing([&](double x) { return x < -700.0  ? -level
                                          : x > 700.0 ? 1.0 - level
                                                      : cdf(std::exp(x)) - level; },
                   start, step));
    case ResponseKind::real:
      break;
  }
  return crossing([&](double y) { return cdf(y) - level; }, start, step);
}

}  // namespace gaussmith
