#pragma once
// Adaptive integration of arbitrary functions on a finite interval.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace gaussmith {

/// When integrate() stops: every component's error estimate <= absolute + relative * (integral of its modulus).
struct IntegrationOptions {
  double absolute = 0.0;
  double relative = 1e-12;
  int max_evaluations = 60000;
};

/// What integrate() found. `error` is an estimate per component; `modulus` the integral of |f_k|.
template <std::size_t K>
struct Integral {
  std::array<double, K> value{};
  std::array<double, K> error{};
  std::array<double, K> modulus{};
  int evaluations = 0;
  bool converged = false;
};

namespace quadrature_detail {

/// Gauss-Kronrod 7-15: nodes x >= 0, Kronrod weights, and Gauss weights (every second node).
inline constexpr std::array<double, 8> nodes = {
    0.99145537112081263921, 0.94910791234275852453, 0.86486442335976907279, 0.74153118559939443986,
    0.58608723546769113029, 0.40584515137739716691, 0.2077849550078984676,  0.0};
inline constexpr std::array<double, 8> kronrod = {
    0.022935322010529224964, 0.063092092629978553291, 0.10479001032225018384, 0.14065325971552591875,
    0.16900472663926790283,  0.19035057806478540991,  0.20443294007529889241, 0.20948214108472782801};
inline constexpr std::array<double, 8> gauss = {0.0, 0.12948496616886969327, 0.0, 0.2797053914892766679,
                                                0.0, 0.38183005050511894495, 0.0, 0.41795918367346938776};

/// p(1) of the polynomial p through values at the 15 nodes from -1 to 1.
inline constexpr std::array<double, 15> end_value = {
    0.0062385286453403224, -0.018451577046963546, 0.030438309530368105, -0.043250815978174173, 0.057719118618911698,
    -0.073778979644262796, 0.091687296848571371,  -0.11292917291898198, 0.139783431782909,     -0.17457035156224215,
    0.2211759702248937,    -0.291418695919992,    0.42004719972088537,  -0.70667399340457787,  1.4539837311033149};

template <std::size_t K>
struct Panel {
  double from, to;
  std::array<double, K> value{}, error{}, modulus{};
  int noisy = 0;  // Halvings in a row that left the errors of both halves as they were.
};

/// A kink between the last node and the end of a panel is invisible to both rules, and halving tends to leave it there.
/// The value at the end shows it; slightly inside, because a jump may lie on the end itself.
inline constexpr double inside_end = 1e-11;

/// The points of a panel, in the order in which evaluate_panel asks for them.
inline void add_points(double from, double to, std::vector<double>& points) {
  const double centre = 0.5 * (from + to);
  const double half = 0.5 * (to - from);
  for (std::size_t i = 0; i < 7; ++i) {
    points.push_back(centre - half * nodes[i]);
    points.push_back(centre + half * nodes[i]);
  }
  points.insert(points.end(), {centre, from + inside_end * half, to - inside_end * half});
}

template <std::size_t K, class F>
Panel<K> evaluate_panel(F& f, double from, double to) {
  Panel<K> panel{from, to, {}, {}, {}, 0};
  const double centre = 0.5 * (from + to);
  const double half = 0.5 * (to - from);
  std::array<std::array<double, K>, 15> sample;
  for (std::size_t i = 0; i < 7; ++i) {
    sample[i] = f(centre - half * nodes[i]);
    sample[14 - i] = f(centre + half * nodes[i]);
  }
  sample[7] = f(centre);
  const std::array<double, K> left = f(from + inside_end * half);
  const std::array<double, K> right = f(to - inside_end * half);
  for (std::size_t k = 0; k < K; ++k) {
    double fine = 0.0, coarse = 0.0, modulus = 0.0, spread = 0.0, first = 0.0, last = 0.0;
    for (std::size_t i = 0; i < 15; ++i) {
      const std::size_t j = i < 8 ? i : 14 - i;
      fine += kronrod[j] * sample[i][k];
      coarse += gauss[j] * sample[i][k];
      modulus += kronrod[j] * std::fabs(sample[i][k]);
      first += end_value[14 - i] * sample[i][k];
      last += end_value[i] * sample[i][k];
    }
    for (std::size_t i = 0; i < 15; ++i) spread += kronrod[i < 8 ? i : 14 - i] * std::fabs(sample[i][k] - 0.5 * fine);
    // |fine - coarse| is the error of the 7-point rule. The 15-point rule is better by far once the panel is resolved:
    // the usual (200 |difference|/spread)^1.5 says so, and leaves the difference as it is where it is large.
    const double difference = std::fabs(fine - coarse);
    double error = difference;
    if (spread > 0.0 && difference > 0.0) error = spread * std::fmin(1.0, std::pow(200.0 * difference / spread, 1.5));
    error += 0.5 * (1.0 - nodes[0]) * (std::fabs(left[k] - first) + std::fabs(right[k] - last));
    panel.value[k] = half * fine;
    panel.error[k] = half * error;
    panel.modulus[k] = half * modulus;
  }
  return panel;
}

}  // namespace quadrature_detail

/// The integral of f: double -> std::array<double, K> from breakpoints.front() to breakpoints.back().
/// Breakpoints are increasing, at least two. Panels whose error is above their share are halved, round by round
/// (Gauss-Kronrod 7-15), which closes in on unknown kinks and jumps. A panel of a few ulps is final, and so
/// is one whose error is noise. Bounded work. A function that looks ahead (`looks_ahead`, `ahead`) is told before every
/// round which points it is asked for, in their order.
template <std::size_t K, class F>
[[nodiscard]] Integral<K> integrate(F&& f, std::span<const double> breakpoints,
                                    const IntegrationOptions& options = {}) {
  using Panel = quadrature_detail::Panel<K>;
  constexpr double epsilon = std::numeric_limits<double>::epsilon();
  Integral<K> result;
  std::vector<Panel> active, next;
  Panel settled{0.0, 0.0, {}, {}, {}, 0};
  const auto add = [](Panel& sum, const Panel& panel) {
    for (std::size_t k = 0; k < K; ++k) {
      sum.value[k] += panel.value[k];
      sum.error[k] += panel.error[k];
      sum.modulus[k] += panel.modulus[k];
    }
  };
  std::vector<double> points;
  constexpr bool may_look_ahead = requires { f.ahead(std::span<const double>(points)); };
  bool looks_ahead = false;
  if constexpr (may_look_ahead) looks_ahead = f.looks_ahead();
  if constexpr (may_look_ahead) {
    if (looks_ahead) {
      for (std::size_t i = 0; i + 1 < breakpoints.size(); ++i)
        if (breakpoints[i] < breakpoints[i + 1])
          quadrature_detail::add_points(breakpoints[i], breakpoints[i + 1], points);
      f.ahead(points);
    }
  }
  for (std::size_t i = 0; i + 1 < breakpoints.size(); ++i) {
    if (!(breakpoints[i] < breakpoints[i + 1])) continue;
    active.push_back(quadrature_detail::evaluate_panel<K>(f, breakpoints[i], breakpoints[i + 1]));
    result.evaluations += 17;
  }
  for (;;) {
    Panel sum = settled;
    for (const Panel& panel : active) add(sum, panel);
    std::array<double, K> tolerance;
    bool enough = true;
    for (std::size_t k = 0; k < K; ++k) {
      tolerance[k] = options.absolute + options.relative * sum.modulus[k];
      enough = enough && sum.error[k] <= tolerance[k];
    }
    if (enough || active.empty() || result.evaluations >= options.max_evaluations) {
      result.value = sum.value;
      result.error = sum.error;
      result.modulus = sum.modulus;
      result.converged = enough;
      return result;
    }
    const double share = 0.5 / std::max<double>(8.0, static_cast<double>(active.size()));
    const auto is_final = [&](const Panel& panel) {
      bool good = true;
      for (std::size_t k = 0; k < K; ++k) {
        // Rounding alone gives errors of this size; halving would not reduce them.
        const double floor = 50.0 * epsilon * panel.modulus[k];
        good = good && panel.error[k] <= std::max(floor, share * tolerance[k]);
      }
      const double width = panel.to - panel.from;
      return good || panel.noisy >= 3 || width <= 8.0 * epsilon * std::max(std::fabs(panel.from), std::fabs(panel.to));
    };
    if constexpr (may_look_ahead) {
      if (looks_ahead) {
        points.clear();
        for (const Panel& panel : active) {
          if (is_final(panel)) continue;
          const double middle = 0.5 * (panel.from + panel.to);
          quadrature_detail::add_points(panel.from, middle, points);
          quadrature_detail::add_points(middle, panel.to, points);
        }
        f.ahead(points);
      }
    }
    next.clear();
    for (const Panel& panel : active) {
      if (is_final(panel)) {
        add(settled, panel);
        continue;
      }
      const double middle = 0.5 * (panel.from + panel.to);
      Panel lower = quadrature_detail::evaluate_panel<K>(f, panel.from, middle);
      Panel upper = quadrature_detail::evaluate_panel<K>(f, middle, panel.to);
      // Once a panel is nearly resolved, a kink or jump leaves its error in one half, a smooth function in none, and
      // rounding noise in both.
      bool noise = false;
      for (std::size_t k = 0; k < K; ++k) {
        const double error = panel.error[k];
        noise = noise || (error > share * tolerance[k] && error < 1e-6 * panel.modulus[k] &&
                          std::min(lower.error[k], upper.error[k]) > 0.02 * error);
      }
      lower.noisy = upper.noisy = noise ? panel.noisy + 1 : 0;
      next.push_back(lower);
      next.push_back(upper);
      result.evaluations += 34;
    }
    active.swap(next);
  }
}

}  // namespace gaussmith
