#include "numerics/tilted_rules.hpp"

#include "numerics/elementary.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

// Densities this many nats below the largest count as zero.
constexpr double reach = 33.0;
constexpr int lanes = 8;
constexpr int most_nodes = 512;
constexpr int least_nodes = 24;
constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- the rule ------------------------------------------------------------------------------------------------------

// Nodes t = offset + width sinh(xi), xi = log(start) + j step, j = 0 .. nodes - 1; nodes is a multiple of `lanes`.
struct Grid {
  double offset, width, start, step;
  int nodes;
};

// Node by node t and density(t) dt/dxi, and the sums of density t^k over all nodes, every second and every fourth.
struct Sums {
  alignas(64) double t[most_nodes];
  alignas(64) double density[most_nodes];
  double all[3], second[3], fourth[3];
};

// Every lane walks through the grid in strides of `lanes`: e^xi by products, one exponential a node.
template <class Exponent>
GAUSSMITH_INLINE void sum_nodes(const Exponent& exponent, const Grid& grid, Sums& sums) {
  alignas(64) double up[lanes], down[lanes];
  alignas(64) double zeroth[lanes] = {}, first[lanes] = {}, second[lanes] = {};
  const double ratio = elementary::exp(grid.step);
  double power = grid.start, stride = 1.0;
  for (int i = 0; i < lanes; ++i) {
    up[i] = power;
    down[i] = 1.0 / power;
    power *= ratio;
    stride *= ratio;
  }
  const double back = 1.0 / stride;
  // Three loops and not one: a processor overlaps short chains of dependent operations better than a long one.
  alignas(64) double cosh_xi[most_nodes], log_density[most_nodes];
  for (int j = 0; j < grid.nodes; j += lanes) {
    for (int i = 0; i < lanes; ++i) {
      sums.t[j + i] = grid.offset + grid.width * (0.5 * (up[i] - down[i]));
      cosh_xi[j + i] = 0.5 * (up[i] + down[i]);
      up[i] *= stride;
      down[i] *= back;
    }
  }
  for (int j = 0; j < grid.nodes; ++j) log_density[j] = exponent(sums.t[j]);
  for (int j = 0; j < grid.nodes; j += lanes) {
    for (int i = 0; i < lanes; ++i) {
      const double t = sums.t[j + i];
      const double density = cosh_xi[j + i] * elementary::exp_bounded(log_density[j + i]);
      sums.density[j + i] = density;
      zeroth[i] += density;
      first[i] += density * t;
      second[i] += density * t * t;
    }
  }
  const auto collect = [&](const double(&lane)[lanes], int k) {
    sums.fourth[k] = lane[0] + lane[4];
    sums.second[k] = sums.fourth[k] + (lane[2] + lane[6]);
    sums.all[k] = sums.second[k] + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
  };
  collect(zeroth, 0);
  collect(first, 1);
  collect(second, 2);
}

// A grid from left < 0 to right > 0 with its finest spacing, width * step, at t = offset. The density has the given
// deviation near t = 0: a normal density needs a step of 0.45 of it to pass resolved().
Grid make_grid(double left, double right, double offset, double width, double largest_step, double deviation) {
  const auto exp_asinh = [](double z) {
    const double root = std::sqrt(1.0 + z * z);
    return z < 0.0 ? 1.0 / (root - z) : root + z;
  };
  const double start = exp_asinh((left - offset) / width);
  const double range = std::log(exp_asinh((right - offset) / width) / start);
  const double step = std::min(largest_step, 0.45 * deviation / std::sqrt(width * width + offset * offset));
  const double wanted = std::max(range / step, least_nodes - lanes + 1.0);
  if (!(wanted < most_nodes)) return {offset, width, start, 0.0, 0};
  const int nodes = (static_cast<int>(wanted) / lanes + 1) * lanes;
  return {offset, width, start, range / (nodes - 1), nodes};
}

// Where a site bends and on which scale, and the step in xi that resolves it there; scales and steps were chosen by
// counting nodes over many rows.
struct Bend {
  double at, scale, step;
};

// A narrow window has its finest spacing at the mode, where t = 0 has no rounding error; a wide one at the bend.
Grid window_grid(double left, double right, const Bend& bend, double deviation) {
  const double extent = std::max(-left, right);
  const bool wide = bend.at < right && bend.at > left && extent > bend.scale;
  return wide ? make_grid(left, right, bend.at, bend.scale, bend.step, deviation)
              : make_grid(left, right, 0.0, extent, bend.step, deviation);
}

// Halving the step squares the error of a resolved analytic integrand; a detail of small height that is not resolved
// shows as two differences of like size. Either way second^2/fourth is an upper estimate of the error that is left.
bool resolved(const Sums& sums) {
  constexpr double goal = 3e-11;
  const double modulus[3] = {sums.all[0], std::sqrt(sums.all[0] * sums.all[2]), sums.all[2]};
  double second = 0.0, fourth = 0.0;
  for (int k = 0; k < 3; ++k) {
    second = std::max(second, std::fabs(2.0 * sums.second[k] - sums.all[k]) / modulus[k]);
    fourth = std::max(fourth, std::fabs(4.0 * sums.fourth[k] - sums.all[k]) / modulus[k]);
  }
  const bool small = second <= goal || (second < 1e-5 && second * second <= goal * fourth);
  return small && sums.all[0] > 0.0 && sums.all[0] < infinity;
}

// Moments about `origin`, where the logarithm of the unnormalised density is `log_origin`; twice the nodes, once, if
// the first grid does not resolve the integrand.
template <class Kernel>
bool integrate_grid(const Kernel& kernel, Grid grid, double variance, double origin, double log_origin,
                    TiltedMoments& moments, TiltedNodes* nodes) {
  if (!std::isfinite(origin + log_origin + grid.offset + grid.width) || !(grid.step > 0.0)) return false;
  Sums sums;
  kernel(grid, sums);
  if (!resolved(sums)) {
    if (2 * grid.nodes > most_nodes) return false;
    grid.step *= (grid.nodes - 1.0) / (2.0 * grid.nodes - 1.0);
    grid.nodes *= 2;
    kernel(grid, sums);
    if (!resolved(sums)) return false;
  }
  const double total = sums.all[0];
  const double mean = sums.all[1] / total;
  moments.log_normaliser =
      log_origin + std::log(total * grid.step * grid.width / std::sqrt(variance)) - log_sqrt_two_pi;
  moments.mean = origin + mean;
  moments.variance = sums.all[2] / total - mean * mean;
  moments.converged = true;
  if (nodes != nullptr) {
    nodes->x.clear();
    nodes->weight.clear();
    for (int j = 0; j < grid.nodes; ++j) {
      nodes->x.push_back(origin + sums.t[j]);
      nodes->weight.push_back(sums.density[j] / total);
    }
  }
  return true;
}

// ---- log-concave sites ---------------------------------------------------------------------------------------------

// y > 0 with y + log y = z: two steps of fourth order.
double wright_omega(double z) {
  double y = z < 1.5 ? 0.8 * std::log1p(std::exp(z)) : z - std::log(z);
  for (int i = 0; i < 2; ++i) {
    const double rest = z - y - std::log(y);
    const double s = 1.0 + y;
    const double q = 2.0 * s * (s + 2.0 / 3.0 * rest);
    y *= 1.0 + rest / s * (q - rest) / (q - 2.0 * rest);
  }
  return y;
}

// Root of (x - m)/v - slope + rate e^x.
double exponential_mode(double m, double v, double slope, double rate) {
  const double log_scale = std::log(v * rate);
  const double flat = m + slope * v;
  const double z = log_scale + flat;
  if (z < -36.0) return flat;
  const double y = wright_omega(z);
  return y > 1.0 ? std::log(y) - log_scale : flat - y;
}

// How far from the mode the density falls by `reach` if its logarithm has the curvature -rate e^-tau at the distance
// tau: rate (e^-tau - 1 + tau) >= reach, from tau^2/(2 + tau) <= e^-tau - 1 + tau.
double slow_side(double rate) {
  const double q = reach / rate;
  return 0.5 * (q + std::sqrt(q * q + 8.0 * q));
}

struct ExponentialExponent {
  double half_precision, rest, rate;
  GAUSSMITH_INLINE double operator()(double t) const {
    return t * (rest - half_precision * t) - rate * (elementary::expm1(t) - t);
  }
};
GAUSSMITH_VECTORISED void sum_exponential(const ExponentialExponent& exponent, const Grid& grid, Sums& sums) {
  sum_nodes(exponent, grid, sums);
}

// With p the sigmoid at the mode: softplus(x + t) - softplus(x) - p t = log(1 + p (e^t - 1)) - p t.
struct SoftplusExponent {
  double half_precision, rest, weight, p;
  GAUSSMITH_INLINE double operator()(double t) const {
    const double e = p * elementary::expm1(t);
    const double u = 1.0 + e;
    // The rounding error of u matters where weight is large: there u is close to one.
    const double lost = u < 2.0 ? e - (u - 1.0) : 0.0;
    return t * (rest - half_precision * t) - weight * (elementary::log_corrected(u, lost) - p * t);
  }
};
GAUSSMITH_VECTORISED void sum_softplus(const SoftplusExponent& exponent, const Grid& grid, Sums& sums) {
  sum_nodes(exponent, grid, sums);
}

// log Phi(x) is log(1 - tail) right of zero and -x^2/2 - log h(-x) - log sqrt(2 pi), h(y) = y + excess(y), left of it;
// there the squares of the mode cancel by algebra: t^2/2 + linear t + log h - base is what the change comes to.
struct LogNdtrExponent {
  double half_precision, rest, weight, mode, log_value, first, linear, base;
  GAUSSMITH_INLINE double operator()(double t) const {
    const double x = mode + t;
    const double y = std::fabs(x);
    const double h = y + elementary::mills_excess(y);
    const double tail = 0.39894228040143267794 * elementary::exp(-0.5 * y * y) / h;
    const double log_part = elementary::log_corrected(x < 0.0 ? h : 1.0 - tail, 0.0);
    const double left = base - t * (0.5 * t + linear) - log_part;
    const double right = log_part - log_value - first * t;
    return t * (rest - half_precision * t) + weight * (x < 0.0 ? left : right);
  }
};
GAUSSMITH_VECTORISED void sum_log_ndtr(const LogNdtrExponent& exponent, const Grid& grid, Sums& sums) {
  sum_nodes(exponent, grid, sums);
}

// ---- log(1 + x^2) --------------------------------------------------------------------------------------------------

struct Log1pSquareExponent {
  double half_precision, rest, power, twice_origin, inverse;
  GAUSSMITH_INLINE double operator()(double t) const {
    const double e = t * (twice_origin + t) * inverse;
    const double u = 1.0 + e;
    const double lost = u < 2.0 ? e - (u - 1.0) : 0.0;
    return t * (rest - half_precision * t) - power * elementary::log_corrected(u, lost);
  }
};
GAUSSMITH_VECTORISED void sum_log1p_square(const Log1pSquareExponent& exponent, const Grid& grid, Sums& sums) {
  sum_nodes(exponent, grid, sums);
}

}  // namespace

bool exponential_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
  const double m = row.mean, v = row.variance;
  const double mode = exponential_mode(m, v, row.slope, -row.weight);
  const double rate = std::max(-row.weight * std::exp(mode), 1e-300);
  const double rest = row.slope - (mode - m) / v - rate;
  const double deviation = 1.0 / std::sqrt(1.0 / v + rate);
  if (!(std::fabs(rest) * deviation < 0.5)) return false;
  // log(1 + sqrt(2 q) + q) is past the point where e^t - 1 - t = q.
  const double q = reach / rate;
  const double gaussian = std::sqrt(2.0 * reach * v);
  const double right = std::min(gaussian, std::log1p(std::sqrt(2.0 * q) + q));
  const double left = -std::min(gaussian, slow_side(rate));
  const Grid grid = window_grid(left, right, {rate < 1.0 ? -std::log(rate) : 0.0, 2.5, 0.063}, deviation);
  const ExponentialExponent exponent{0.5 / v, rest, rate};
  const double log_mode = row.slope * mode - rate - 0.5 * (mode - m) * ((mode - m) / v);
  return integrate_grid([&](const Grid& g, Sums& s) { sum_exponential(exponent, g, s); }, grid, v, mode, log_mode,
                        moments, nodes);
}

bool softplus_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
  const double n = -row.weight, v = row.variance;
  // The slope of the log density falls with x. Its zero is brought to the left of x = 0 by
  // softplus(x) = x + softplus(-x).
  const bool flip = row.mean / v + row.slope - 0.5 * n > 0.0;
  const double m = flip ? -row.mean : row.mean;
  const double slope = flip ? n - row.slope : row.slope;
  // There e^x/2 <= sigmoid(x) <= e^x: the mode is at most log 2 away, and Newton's method converges from above.
  double mode = std::min(0.0, exponential_mode(m, v, slope, 0.5 * n));
  double e = 1.0, p = 0.5, rest = 0.0, curvature = 0.0;
  for (int i = 0; i < 20; ++i) {
    e = std::exp(mode);
    p = e / (1.0 + e);
    rest = slope - (mode - m) / v - n * p;
    curvature = 1.0 / v + n * p * (1.0 - p);
    if (rest * rest < 1e-3 * curvature) break;
    mode = std::min(0.0, mode + rest / curvature);
  }
  if (!(rest * rest < curvature)) return false;
  const double log_site = std::log1p(e);
  // The logarithm of the curvature of softplus has slopes within [-1, 1]; and log(1 + p (e^t - 1)) > t + log p.
  const double either_side = std::min(std::sqrt(2.0 * reach * v), slow_side(n * p * (1.0 - p)));
  const double right = std::min(either_side, (reach / n + log_site - mode) / (1.0 - p));
  const double left = -either_side;
  if (!(right < 700.0)) return false;  // e^t would overflow.
  const Grid grid = window_grid(left, right, {std::max(0.0, n > 1.0 ? -mode - std::log(n) : -mode), 5.0, 0.08},
                                1.0 / std::sqrt(curvature));
  const SoftplusExponent exponent{0.5 / v, rest, n, p};
  const double log_mode = slope * mode - n * log_site - 0.5 * (mode - m) * ((mode - m) / v);
  if (!integrate_grid([&](const Grid& g, Sums& s) { sum_softplus(exponent, g, s); }, grid, v, mode, log_mode, moments,
                      nodes)) {
    return false;
  }
  if (flip) {
    moments.mean = -moments.mean;
    if (nodes != nullptr) {
      for (double& x : nodes->x) x = -x;
    }
  }
  return true;
}

bool log_ndtr_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
  const double m = row.mean, v = row.variance, w = row.weight;
  // mills(x) is convex and falls: Newton's method climbs from m, left of the mode, without overshooting.
  double mode = m + row.slope * v;
  double first = 0.0, rest = 0.0, curvature = 0.0;
  for (int i = 0; i < 30; ++i) {
    const double y = std::fabs(mode);
    const double excess = elementary::mills_excess(y);
    first = mode < 0.0 ? y + excess : 0.39894228040143267794 * std::exp(-0.5 * y * y) / elementary::ndtr(mode);
    rest = row.slope - (mode - m) / v + w * first;
    curvature = 1.0 / v + w * first * (mode < 0.0 ? excess : mode + first);
    if (rest * rest < 1e-3 * curvature) break;
    mode += rest / curvature;
  }
  if (!(rest * rest < curvature)) return false;
  const double log_value = log_ndtr(mode);
  // h = first at a mode left of zero.
  const double linear = mode < 0.0 ? elementary::mills_excess(-mode) : mode + first;
  const double base = mode < 0.0 ? std::log(first) : -0.5 * mode * mode - log_sqrt_two_pi - log_value;
  const LogNdtrExponent exponent{0.5 / v, rest, w, mode, log_value, first, linear, base};
  // (log Phi)'' < 0 rises with x: left of the mode the density falls at least like a normal one with its curvature.
  const double right = std::sqrt(2.0 * reach * v);
  const double left = -std::sqrt(2.0 * reach / curvature);
  const Grid grid = window_grid(left, right, {1.9 - mode, 6.0, 0.075}, 1.0 / std::sqrt(curvature));
  const double log_mode = row.slope * mode + w * log_value - 0.5 * (mode - m) * ((mode - m) / v);
  return integrate_grid([&](const Grid& g, Sums& s) { sum_log_ndtr(exponent, g, s); }, grid, v, mode, log_mode, moments,
                        nodes);
}

bool log1p_square_tilted(const TiltedRow& row, TiltedMoments& moments, TiltedNodes* nodes) {
  if (row.slope != 0.0) return false;
  const double m = row.mean, v = row.variance, power = -row.weight;
  const auto log_density = [&](double x) { return -0.5 * (x - m) * ((x - m) / v) - power * std::log1p(x * x); };
  // From the better of the two centres towards its mode: log(1 + x^2) lies below its tangent in x^2, so that every step
  // climbs. Where the site is nearly normal the mode is far from both centres.
  double origin = log_density(0.0) > log_density(m) ? 0.0 : m;
  for (int i = 0; i < 4; ++i) origin = m / (1.0 + 2.0 * power * v / (1.0 + origin * origin));
  const double log_origin = log_density(origin);
  // What one factor alone puts below the origin by `reach` is left out; in the variance a tail like |x|^(-2 power)
  // counts with |x|^2 dx, hence the 1.5.
  const double radius = std::sqrt(2.0 * v * (reach - log_origin));
  const double log_extent = power > 1.5 ? (reach + 3.0 - log_origin) / (power - 1.5) : infinity;
  const double extent = std::sqrt(std::expm1(std::min(log_extent, 600.0)));
  const double low = std::max(m - radius, -extent), high = std::min(m + radius, extent);
  if (!(low < origin && origin < high)) return false;
  const double left = low - origin, right = high - origin;
  // In xi = asinh(x) the site has the width 1/sqrt(2 power) and the Gaussian s/sqrt(1 + m^2).
  const double deviation = std::sqrt((1.0 + origin * origin) / (2.0 * power + (1.0 + m * m) / v));
  const Grid grid = window_grid(left, right, {-origin, 1.0, 0.08}, deviation);
  const Log1pSquareExponent exponent{0.5 / v, (m - origin) / v, power, 2.0 * origin, 1.0 / (1.0 + origin * origin)};
  return integrate_grid([&](const Grid& g, Sums& s) { sum_log1p_square(exponent, g, s); }, grid, v, origin, log_origin,
                        moments, nodes);
}

}  // namespace gaussmith
