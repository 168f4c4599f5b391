#include "numerics/gaussian_integrals.hpp"

#include "numerics/quadrature.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace gaussmith {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Offsets from a feature's centre in units of its width: dense inside, geometric outside, so that adaptive panels start
// at the right scale wherever the feature merges into its surroundings.
void add_graded(std::vector<double>& points, double centre, double width, double reach) {
  points.push_back(centre);
  for (double offset = 0.5 * width; offset < reach; offset *= 3.0) {
    points.push_back(centre - offset);
    points.push_back(centre + offset);
  }
}

void sort_unique(std::vector<double>& points) {
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

/// An integrand that tells the function which it calls where that is asked for next, at place(u) for a point u.
template <class Body, class Place>
struct Integrand : Body {
  ScalarFunction function;
  Place place;

  [[nodiscard]] bool looks_ahead() const { return function.looks_ahead(); }
  void ahead(std::span<const double> points) const {
    std::vector<double> at;
    at.reserve(points.size());
    for (const double u : points) at.push_back(place(u));
    function.ahead(at);
  }
};
template <class Body, class Place>
Integrand(Body, ScalarFunction, Place) -> Integrand<Body, Place>;

// ---- expectations --------------------------------------------------------------------------------------------------

// Interpolation in 21 Chebyshev points on [-1, 1] and the monomial coefficients of T_0 .. T_20.
constexpr int degree = 20;
struct ChebyshevTable {
  std::array<double, degree + 1> point{};
  std::array<std::array<double, degree + 1>, degree + 1> transform{};  // coefficient k from values at point i
  std::array<std::array<double, degree + 1>, degree + 1> monomial{};   // T_k = sum_j monomial[k][j] u^j
  ChebyshevTable() {
    const double pi = 3.14159265358979323846;
    for (int i = 0; i <= degree; ++i) point[i] = std::sin(pi * (2 * i - degree) / (2.0 * degree));
    for (int k = 0; k <= degree; ++k) {
      for (int i = 0; i <= degree; ++i) {
        const double halves = (k == 0 || k == degree ? 0.5 : 1.0) * (i == 0 || i == degree ? 0.5 : 1.0);
        transform[k][i] = 2.0 / degree * halves * std::cos(pi * ((k * (degree - i)) % (2 * degree)) / degree);
      }
    }
    monomial[0][0] = 1.0;
    monomial[1][1] = 1.0;
    for (int k = 2; k <= degree; ++k) {
      for (int j = 0; j <= degree; ++j) {
        monomial[k][j] = (j > 0 ? 2.0 * monomial[k - 1][j - 1] : 0.0) - monomial[k - 2][j];
      }
    }
  }
};
const ChebyshevTable& chebyshev_table() {
  static const ChebyshevTable table;
  return table;
}

// Narrow Gaussians: E[z f]/s and E[(z^2 - 1) f]/(2 v) would divide the rounding errors of f by s and v. If f is a
// polynomial to working accuracy on [m - width, m + width], width >= 12 s, that polynomial is integrated instead and
// rounding is divided by width and width^2 only. Returns false where f is not resolved.
bool expectation_by_polynomial(ScalarFunction f, double m, double s, double width, bool insist,
                               GaussianExpectation& result) {
  const ChebyshevTable& table = chebyshev_table();
  if (f.looks_ahead()) {
    std::vector<double> points = {m};
    for (const double point : table.point) points.push_back(m + width * point);
    f.ahead(points);
  }
  const double centre = f(m);
  std::array<double, degree + 1> difference, coefficient{}, power{};
  double largest = 0.0;
  for (int i = 0; i <= degree; ++i) {
    difference[i] = f(m + width * table.point[i]) - centre;
    if (!std::isfinite(difference[i])) return false;
    largest = std::max(largest, std::fabs(difference[i]));
  }
  for (int k = 0; k <= degree; ++k) {
    for (int i = 0; i <= degree; ++i) coefficient[k] += table.transform[k][i] * difference[i];
  }
  const double noise = 2.0 * epsilon * (std::fabs(centre) + largest);
  const double goal = std::max(noise, 1e-13 * width * width * (1.0 + std::fabs(centre)));
  for (int k = degree - 3; k <= degree; ++k) {
    if (!insist && std::fabs(coefficient[k]) > goal) return false;
  }
  for (int k = 0; k <= degree; ++k) {
    for (int j = 0; j <= k; ++j) power[j] += coefficient[k] * table.monomial[k][j];
  }
  // Moments of u = (x - m)/width: E[u^j] = (j - 1)!! (s/width)^j for even j.
  const double scaled = (s / width) * (s / width);
  double moment = 1.0;
  double value = power[0], first = power[1], second = 2.0 * power[2];
  for (int j = 2; j <= degree; j += 2) {
    moment *= (j - 1) * scaled;
    value += power[j] * moment;
    if (j + 1 <= degree) first += (j + 1) * power[j + 1] * moment;
    if (j + 2 <= degree) second += (j + 2) * (j + 1) * power[j + 2] * moment;
  }
  result.value = centre + value;
  result.d_mean = first / width;
  result.d_variance = 0.5 * second / (width * width);
  return true;
}

// ---- tilted densities ----------------------------------------------------------------------------------------------

// All tilted integrals run over u = x - m: the quadratic part is then exact even where x itself is rounded.
struct LogTilted {
  ScalarFunction log_site;
  double m, v, power;
  double operator()(double u) const {
    const double site = power * log_site(place(u)) - 0.5 * u * (u / v);
    return site < infinity ? site : -infinity;  // NaN and +inf are no density.
  }
  [[nodiscard]] double place(double u) const { return m + u; }
};

struct Sample {
  double u, log_value;
};

// Integrands more than this many nats below the largest are below rounding, whatever the width of the interval.
constexpr double negligible = 60.0;

// Sample points that bracket every mode on its own scale. They become the first panels of the integration.
class ModeSearch {
 public:
  ModeSearch(const LogTilted& log_tilted, std::span<const Feature> features, std::span<const double> kinks)
      : log_tilted_(log_tilted) {
    const double s = std::sqrt(log_tilted.v);
    std::vector<double> points;
    add_graded(points, 0.0, s, 40.0 * s);
    for (double z : {2.5, 4.0, 6.0, 8.0, 11.0}) {
      points.push_back(z * s);
      points.push_back(-z * s);
    }
    for (const Feature& feature : features) {
      const double centre = feature.centre - log_tilted.m;
      add_graded(points, centre, feature.width, std::fabs(centre) + 40.0 * s);
    }
    for (double kink : kinks) {
      const double u = kink - log_tilted.m;
      // A jump has its largest value beside the point itself.
      const double beside = 4.0 * epsilon * (std::fabs(kink) + std::fabs(u) + s);
      for (double offset : {0.0, beside, 1e-3 * s, 0.1 * s}) {
        points.push_back(u - offset);
        points.push_back(u + offset);
      }
    }
    sort_unique(points);
    look_ahead(points);
    for (double u : points) samples_.push_back(sample(u));
    widen(s);
    refine();
  }

  [[nodiscard]] double peak() const { return best_.u; }
  [[nodiscard]] double log_peak() const { return best_.log_value; }

  /// Panels from the first to the last that can matter.
  [[nodiscard]] std::vector<double> breakpoints() const {
    std::size_t first = samples_.size(), last = 0;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      if (samples_[i].log_value < best_.log_value - negligible) continue;
      first = std::min(first, i);
      last = i;
    }
    first = first > 0 ? first - 1 : 0;
    last = std::min(last + 1, samples_.size() - 1);
    std::vector<double> points;
    for (std::size_t i = first; i <= last; ++i) points.push_back(samples_[i].u);
    return points;
  }

 private:
  void look_ahead(std::vector<double> points) const {
    for (double& u : points) u = log_tilted_.place(u);
    log_tilted_.log_site.ahead(points);
  }

  Sample sample(double u) {
    const Sample found{u, log_tilted_(u)};
    if (found.log_value > best_.log_value) best_ = found;
    return found;
  }

  // The site may push the mass beyond the first points: double the range until both ends are negligible.
  void widen(double s) {
    for (int side : {-1, 1}) {
      for (int i = 0; i < 1000; ++i) {
        const Sample& end = side < 0 ? samples_.front() : samples_.back();
        if (end.log_value < best_.log_value - negligible) break;
        const double u = end.u + side * (std::fabs(end.u) + s);
        if (!std::isfinite(u * u)) break;
        const Sample found = sample(u);
        samples_.insert(side < 0 ? samples_.begin() : samples_.end(), found);
      }
    }
  }

  // Calls visit(middle) for the intervals around every relevant local maximum across which the density changes much.
  template <class Visit>
  void visit_unresolved(Visit&& visit) const {
    for (std::size_t i = 1; i + 1 < samples_.size(); ++i) {
      const Sample &left = samples_[i - 1], &here = samples_[i], &right = samples_[i + 1];
      if (here.log_value < left.log_value || here.log_value < right.log_value) continue;
      if (here.log_value < best_.log_value - negligible) continue;
      const double scale = std::fabs(here.u) + std::fabs(here.u + log_tilted_.m);
      for (const Sample* side : {&left, &right}) {
        const bool resolved = side->log_value > here.log_value - 3.0;
        const bool tiny = std::fabs(side->u - here.u) <= 16.0 * epsilon * scale;
        if (!resolved && !tiny) visit(0.5 * (side->u + here.u));
      }
    }
  }

  // Halve the intervals around every relevant local maximum until the density changes little across them.
  void refine() {
    // A site that vanishes wherever it was looked at has no maximum to close in on.
    if (best_.log_value == -infinity) return;
    constexpr std::size_t most_samples = 20000;
    for (int round = 0; round < 200 && samples_.size() < most_samples; ++round) {
      if (log_tilted_.log_site.looks_ahead()) {
        std::vector<double> points;
        visit_unresolved([&](double u) { points.push_back(u); });
        look_ahead(std::move(points));
      }
      std::vector<Sample> added;
      visit_unresolved([&](double u) { added.push_back(sample(u)); });
      if (added.empty()) return;
      samples_.insert(samples_.end(), added.begin(), added.end());
      std::sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) { return a.u < b.u; });
    }
  }

  const LogTilted& log_tilted_;
  std::vector<Sample> samples_;
  Sample best_{0.0, -infinity};
};

// Rounding of the exponent is a relative error of the integrand.
double reachable(double log_peak) { return std::max(1e-12, 8.0 * epsilon * std::fabs(log_peak)); }

// The promise of 1e-9 with a margin; a site computed with cancellation cannot reach the goal above.
template <std::size_t K>
bool accurate(const Integral<K>& integral) {
  return integral.converged || integral.error[0] <= 3e-10 * integral.modulus[0];
}

// Moments about `peak` of a density whose logarithm was lowered by log_peak.
TiltedMoments moments_from(const std::array<double, 3>& integral, double m, double v, double peak, double log_peak) {
  TiltedMoments result;
  const double mean = integral[1] / integral[0];
  result.log_normaliser = log_peak + std::log(integral[0]) - 0.5 * std::log(v) - log_sqrt_two_pi;
  result.mean = m + (peak + mean);
  result.variance = std::max(integral[2] / integral[0] - mean * mean, 0.0);
  return result;
}

// ---- log-concave sites ---------------------------------------------------------------------------------------------

// Mode and window of a log-concave tilted density.
struct Window {
  double mode, log_mode, left, right;
};

Window find_window(DerivativeFunction derivatives, double m, double v, double power) {
  // The slope -u/v + power f'(m + u) falls: its root lies between 0 and v * slope(0).
  const auto slope = [&](double u, double& curvature, double& value) {
    const SiteDerivatives d = derivatives(m + u);
    curvature = 1.0 / v - power * std::fmin(d.second, 0.0);
    value = power * d.value - 0.5 * u * (u / v);
    return power * d.first - u / v;
  };
  double curvature = 0.0, value = 0.0;
  double u = 0.0;
  double g = slope(u, curvature, value);
  double low = std::fmin(0.0, v * g), high = std::fmax(0.0, v * g);
  for (int i = 0; i < 200 && !(g * g < 1e-4 * curvature); ++i) {
    double next = u + g / curvature;
    // Newton alone crawls where the slope falls like e^x, bisection alone where the bracket is huge: alternate.
    if (!(next > low && next < high) || i % 4 == 3) next = 0.5 * (low + high);
    if (next == u) break;
    u = next;
    g = slope(u, curvature, value);
    (g > 0.0 ? low : high) = u;
    if (!(high - low > 4.0 * epsilon * (std::fabs(u) + std::fabs(m + u)))) break;
  }
  Window window{u, value, 0.0, 0.0};
  for (int side : {-1, 1}) {
    // The drop below the mode is convex in the distance: bracket the distance where it is between 37 and 50 nats.
    double distance = 8.8 / std::sqrt(curvature);
    double inside = 0.0, outside = infinity;
    for (int i = 0; i < 100; ++i) {
      const double at = u + side * distance;
      const double drop = value - (power * derivatives(m + at).value - 0.5 * at * (at / v));
      if (drop >= 37.0 && drop <= 50.0) break;
      if (drop < 37.0) {
        inside = distance;
        const double further = distance * std::clamp(std::sqrt(42.0 / std::fmax(drop, 1.0)), 1.1, 3.0);
        distance = further < outside ? further : 0.5 * (inside + outside);
      } else {
        outside = distance;
        distance = std::fmax(0.5 * (inside + outside), std::isfinite(drop) ? distance * 42.0 / drop : 0.0);
      }
      if (outside - inside <= 1e-6 * distance) break;
    }
    (side < 0 ? window.left : window.right) = u + side * distance;
  }
  return window;
}

// Integrals of density * weights(u) over the window; weights: double -> std::array<double, 3>, the first of them 1.
template <class Weights>
std::array<double, 3> integrate_unimodal(DerivativeFunction derivatives, double m, double v, double power,
                                         const Window& window, const Weights& weights, bool& converged) {
  const auto integrand = [&](double u) {
    const double density = std::exp(power * derivatives(m + u).value - 0.5 * u * (u / v) - window.log_mode);
    std::array<double, 3> w = weights(u);
    for (double& x : w) x *= density;
    return w;
  };
  // The trapezoidal rule converges exponentially for an analytic integrand that vanishes at both ends: doubling squares
  // the error, so two levels that agree to 1e-11 leave an error far below.
  const double goal = reachable(window.log_mode) * 10.0;
  const double length = window.right - window.left;
  int intervals = 24;
  std::array<double, 3> sum{}, modulus{};
  const auto add = [&](double u) {
    const std::array<double, 3> w = integrand(u);
    for (std::size_t k = 0; k < 3; ++k) {
      sum[k] += w[k];
      modulus[k] += std::fabs(w[k]);
    }
  };
  for (int i = 0; i <= intervals; ++i) add(window.left + length * i / intervals);
  for (double last = infinity;;) {
    const std::array<double, 3> previous = sum;
    for (int i = 0; i < intervals; ++i) add(window.left + length * (i + 0.5) / intervals);
    intervals *= 2;
    double difference = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
      if (modulus[k] > 0.0) difference = std::fmax(difference, std::fabs(2.0 * previous[k] - sum[k]) / modulus[k]);
    }
    // Small differences that no longer fall are rounding noise of the site itself.
    // A sum that is not a positive number (a mode that was missed, an overflow) never counts as one that agrees.
    converged = std::isfinite(sum[0]) && sum[0] > 0.0 &&
                (difference <= goal || (difference < 1e-8 && difference > 0.05 * last));
    last = difference;
    if (converged) {
      for (double& x : sum) x *= length / intervals;
      return sum;
    }
    if (!(difference < 3e-3) || intervals >= 384 || !(sum[0] > 0.0)) break;
  }
  std::vector<double> breakpoints;
  for (double fraction = 1.0; fraction > 0.01; fraction *= 0.35) {
    breakpoints.push_back(window.mode + fraction * (window.left - window.mode));
    breakpoints.push_back(window.mode + fraction * (window.right - window.mode));
  }
  breakpoints.push_back(window.mode);
  sort_unique(breakpoints);
  const auto integral = integrate<3>(integrand, breakpoints, {.relative = goal});
  converged = accurate(integral) && std::isfinite(integral.value[0]) && integral.value[0] > 0.0;
  return integral.value;
}

}  // namespace

GaussianExpectation expectation_by_quadrature(ScalarFunction f, double m, double v, std::span<const Feature> features,
                                              std::span<const double> kinks) {
  GaussianExpectation result;
  const double s = std::sqrt(std::fmax(v, 0.0));

  double width = 1.0 + 0.1 * std::fabs(m);
  for (const Feature& feature : features) {
    width = std::fmin(width, std::fmax(0.5 * feature.width, 0.5 * std::fabs(m - feature.centre)));
  }
  double nearest = infinity;
  for (double kink : kinks) nearest = std::fmin(nearest, std::fabs(m - kink));
  if (nearest > 0.0) width = std::fmin(width, nearest);
  const double least = std::fmax(12.0 * s, 1e-5 * (1.0 + std::fabs(m)));
  for (; width >= least; width *= 0.4) {
    if (expectation_by_polynomial(f, m, s, width, false, result)) return result;
  }
  if (s == 0.0) {
    result.converged = expectation_by_polynomial(f, m, s, least, true, result) && nearest > 0.0;
    return result;
  }

  // E[f], E[z f] and E[(z^2 - 1) f] with f(m) subtracted, which changes the first only.
  const double centre = f(m);
  bool finite = std::isfinite(centre);
  const auto place = [m, s](double z) { return m + s * z; };
  const auto weighted_value = [&](double z) {
    const double value = f(place(z)) - centre;
    if (!std::isfinite(value)) {
      finite = false;
      return std::array<double, 3>{};
    }
    const double weighted = value * std::exp(-0.5 * z * z - log_sqrt_two_pi);
    return std::array<double, 3>{weighted, z * weighted, (z * z - 1.0) * weighted};
  };
  const Integrand integrand{weighted_value, f, place};
  constexpr double reach = 9.5;
  std::vector<double> breakpoints = {-reach, -6.0, -4.0, -2.5, -1.2, 0.0, 1.2, 2.5, 4.0, 6.0, reach};
  for (const Feature& feature : features)
    add_graded(breakpoints, (feature.centre - m) / s, feature.width / s, 2.0 * reach);
  for (double kink : kinks) breakpoints.push_back((kink - m) / s);
  std::erase_if(breakpoints, [](double z) { return !(std::fabs(z) <= reach); });
  sort_unique(breakpoints);
  const double noise = 2.0 * epsilon * std::fabs(centre);
  const double goal = std::fmax(noise, 1e-12 * std::fmin(1.0, v) * (1.0 + std::fabs(centre)));
  auto integral = integrate<3>(integrand, breakpoints, {.absolute = goal, .relative = 2e-13});
  result.converged = integral.converged;
  // A function that grows like e^x moves the mass outwards: add shells until they no longer count.
  for (int side : {-1, 1}) {
    for (double from = reach; from < 36.0; from += 2.5) {
      const std::array<double, 2> shell = {side < 0 ? -from - 2.5 : from, side < 0 ? -from : from + 2.5};
      const auto more = integrate<3>(integrand, shell, {.absolute = goal, .relative = 1e-9});
      bool counts = false;
      for (std::size_t k = 0; k < 3; ++k) {
        integral.value[k] += more.value[k];
        counts = counts || more.modulus[k] > std::fmax(0.1 * goal, 1e-14 * integral.modulus[k]);
        integral.modulus[k] += more.modulus[k];
      }
      if (!counts) break;
    }
  }
  result.value = centre + integral.value[0];
  result.d_mean = integral.value[1] / s;
  result.d_variance = 0.5 * integral.value[2] / v;
  result.converged = result.converged && finite;
  return result;
}

TiltedMoments tilted_moments(ScalarFunction log_site, double m, double v, double power,
                             std::span<const Feature> features, std::span<const double> kinks) {
  const LogTilted log_tilted{log_site, m, v, power};
  const ModeSearch search(log_tilted, features, kinks);
  const double peak = search.peak(), log_peak = search.log_peak();
  if (log_peak == -infinity) return {-infinity, m, v, false};
  const auto weighted_density = [&](double u) {
    const double density = std::exp(log_tilted(u) - log_peak);
    const double w = u - peak;
    return std::array<double, 3>{density, w * density, w * w * density};
  };
  const Integrand integrand{weighted_density, log_site, [&](double u) { return log_tilted.place(u); }};
  const auto integral = integrate<3>(integrand, search.breakpoints(), {.relative = reachable(log_peak)});
  TiltedMoments result = moments_from(integral.value, m, v, peak, log_peak);
  result.converged = accurate(integral);
  return result;
}

double tilted_expectation(ScalarFunction h, ScalarFunction log_site, double m, double v, double power,
                          std::span<const Feature> features, std::span<const double> kinks) {
  const LogTilted log_tilted{log_site, m, v, power};
  const ModeSearch search(log_tilted, features, kinks);
  if (search.log_peak() == -infinity) return h(m);
  const auto integrand = [&](double u) {
    const double density = std::exp(log_tilted(u) - search.log_peak());
    return std::array<double, 2>{density, density > 0.0 ? density * h(m + u) : 0.0};
  };
  const auto integral = integrate<2>(integrand, search.breakpoints(), {.relative = reachable(search.log_peak())});
  return integral.value[1] / integral.value[0];
}

TiltedMoments tilted_moments_unimodal(DerivativeFunction derivatives, double m, double v, double power) {
  const Window window = find_window(derivatives, m, v, power);
  bool converged = false;
  const auto weights = [&](double u) {
    const double w = u - window.mode;
    return std::array<double, 3>{1.0, w, w * w};
  };
  const auto integral = integrate_unimodal(derivatives, m, v, power, window, weights, converged);
  TiltedMoments result = moments_from(integral, m, v, window.mode, window.log_mode);
  result.converged = converged;
  return result;
}

double tilted_expectation_unimodal(ScalarFunction h, DerivativeFunction derivatives, double m, double v, double power) {
  const Window window = find_window(derivatives, m, v, power);
  bool converged = false;
  const auto weights = [&](double u) { return std::array<double, 3>{1.0, h(m + u), 0.0}; };
  const auto integral = integrate_unimodal(derivatives, m, v, power, window, weights, converged);
  return integral[1] / integral[0];
}

}  // namespace gaussmith
