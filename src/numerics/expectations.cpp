#include "numerics/expectations.hpp"

#include "numerics/elementary.hpp"
#include "numerics/special.hpp"

#include <array>
#include <cmath>
#include <cstddef>

namespace gaussmith {

namespace {

constexpr double inverse_sqrt_two_pi = 0.39894228040143267794;

// The trapezoidal rule in z = (x - mean)/s: step 0.55 out to 7.15. For f analytic in |Im x| < d the error falls like
// exp(-2 pi d/(0.55 s) + d^2/(2 s^2)), below 1e-12 for the three functions where this rule is used.
constexpr int trapezoid_half = 13;
constexpr int trapezoid_nodes = 2 * trapezoid_half + 1;
struct TrapezoidRule {
  std::array<double, trapezoid_nodes> z{}, weight{};
  TrapezoidRule() {
    double total = 0.0;
    for (int j = 0; j < trapezoid_nodes; ++j) {
      z[j] = 0.55 * (j - trapezoid_half);
      weight[j] = std::exp(-0.5 * z[j] * z[j]);
      total += weight[j];
    }
    for (double& w : weight) w /= total;
  }
};
const TrapezoidRule& trapezoid_rule() {
  static const TrapezoidRule rule;
  return rule;
}

// Rows that go through a kernel together, one per SIMD lane. Fixed, so that every row meets the same instructions.
constexpr int lanes = 16;
struct RowPack {
  alignas(64) double mean[lanes] = {};
  alignas(64) double deviation[lanes] = {};
  alignas(64) double value[lanes];
  alignas(64) double d_mean[lanes];
  alignas(64) double d_variance[lanes];
};

// ---- softplus ------------------------------------------------------------------------------------------------------

GAUSSMITH_VECTORISED void softplus_narrow(RowPack& rows, const TrapezoidRule& rule) {
  alignas(64) double value[lanes] = {}, first[lanes] = {}, second[lanes] = {};
  for (int j = 0; j < trapezoid_nodes; ++j) {
    const double z = rule.z[j];
    const double weight = rule.weight[j];
    for (int i = 0; i < lanes; ++i) {
      const double x = rows.mean[i] + rows.deviation[i] * z;
      const double w = elementary::exp(-std::fabs(x));
      const double share = 1.0 / ((1.0 + w) * (2.0 + w));  // One division serves log1p and the sigmoid.
      const double inverse = (2.0 + w) * share;
      const double odds = w * inverse;
      value[i] += weight * ((x > 0.0 ? x : 0.0) + elementary::log1p_unit(w * (1.0 + w) * share));
      first[i] += weight * (x > 0.0 ? inverse : odds);
      second[i] += weight * (odds * inverse);
    }
  }
  for (int i = 0; i < lanes; ++i) {
    rows.value[i] = value[i];
    rows.d_mean[i] = first[i];
    rows.d_variance[i] = 0.5 * second[i];
  }
}

// Wide rows: softplus(x) = r(x) + R(x) with the soft ramp r(x) = x Phi(x/c) + c phi(x/c), whose expectation is the same
// function with c^2 + v for c^2, and an even remainder R ~ e^-|x|, analytic in |Im x| < pi. R is integrated by the
// trapezoidal rule on one grid for all rows, so R, R' and R'' are tabulated.
constexpr double ramp_width = 1.5;
constexpr double grid_step = 0.55;
constexpr int grid_half = 51;
struct RemainderTable {
  std::array<double, grid_half + 1> value{}, first{}, half_second{};
  RemainderTable() {
    for (int j = 0; j <= grid_half; ++j) {
      const double x = grid_step * j;
      const double y = x / ramp_width;
      const double density = inverse_sqrt_two_pi * std::exp(-0.5 * y * y);
      const double tail = 0.5 * std::erfc(y * 0.70710678118654752440);
      const double w = std::exp(-x);
      // Both softplus and the ramp are x + O(e^-x): the differences from x are subtracted.
      value[j] = std::log1p(w) - (ramp_width * density - x * tail);
      first[j] = tail - w / (1.0 + w);
      half_second[j] = 0.5 * (w / ((1.0 + w) * (1.0 + w)) - density / ramp_width);
    }
  }
};
const RemainderTable& remainder_table() {
  static const RemainderTable table;
  return table;
}

GAUSSMITH_VECTORISED void softplus_wide(RowPack& rows, const RemainderTable& table) {
  alignas(64) double right[lanes], left[lanes], right_ratio[lanes], left_ratio[lanes], ratio[lanes];
  alignas(64) double value[lanes], first[lanes], second[lanes];
  for (int i = 0; i < lanes; ++i) {
    const double inverse = 1.0 / rows.deviation[i];
    double z = rows.mean[i] * inverse;
    // Gaussian weights at the nodes j h obey w(j+1) = w(j) q(j), q(j+1) = q(j) exp(-h^2/v): two products a node, no
    // exponential. Beyond 38 deviations w(0) underflows, and R at the mean is below 1e-16 there.
    z = z > 38.6 ? 38.6 : z;
    z = z < -38.6 ? -38.6 : z;
    const double step = grid_step * inverse;
    const double centre = elementary::exp(-0.5 * z * z);
    right_ratio[i] = elementary::exp(step * (z - 0.5 * step));
    left_ratio[i] = elementary::exp(-step * (z + 0.5 * step));
    ratio[i] = elementary::exp(-step * step);
    right[i] = left[i] = centre;
    value[i] = centre * table.value[0];
    first[i] = 0.0;
    second[i] = centre * table.half_second[0];
  }
  for (int j = 1; j <= grid_half; ++j) {
    const double r0 = table.value[j], r1 = table.first[j], r2 = table.half_second[j];
    for (int i = 0; i < lanes; ++i) {
      const double u = right[i] * right_ratio[i];
      const double l = left[i] * left_ratio[i];
      right[i] = u;
      left[i] = l;
      right_ratio[i] *= ratio[i];
      left_ratio[i] *= ratio[i];
      value[i] += r0 * (u + l);
      first[i] += r1 * (u - l);
      second[i] += r2 * (u + l);
    }
  }
  for (int i = 0; i < lanes; ++i) {
    const double inverse = 1.0 / rows.deviation[i];
    const double norm = grid_step * inverse_sqrt_two_pi * inverse;
    const double ramp = std::sqrt(ramp_width * ramp_width + rows.deviation[i] * rows.deviation[i]);
    const double z = rows.mean[i] / ramp;
    const double density = inverse_sqrt_two_pi * elementary::exp(-0.5 * z * z);
    const double below = elementary::ndtr(z);
    const double e0 = rows.mean[i] * below + ramp * density + norm * value[i];
    const double e1 = below + norm * first[i];
    const double e2 = 0.5 * density / ramp + norm * second[i];
    // All three are positive; far in the left tail rounding could say otherwise.
    rows.value[i] = e0 > 0.0 ? e0 : 0.0;
    rows.d_mean[i] = e1 > 0.0 ? e1 : 0.0;
    rows.d_variance[i] = e2 > 0.0 ? e2 : 0.0;
  }
}

// Collects rows of one kind until a pack is full, runs the kernel and puts the results back where the rows came from.
template <class Kernel>
class PackQueue {
 public:
  PackQueue(Kernel kernel, const ExpectationSpans& out) : kernel_(kernel), out_(out) {}

  void push(std::size_t row, double mean, double deviation) {
    rows_.mean[count_] = mean;
    rows_.deviation[count_] = deviation;
    index_[count_] = row;
    if (++count_ == lanes) flush();
  }

  void flush() {
    if (count_ == 0) return;
    for (int i = count_; i < lanes; ++i) {
      rows_.mean[i] = rows_.mean[0];
      rows_.deviation[i] = rows_.deviation[0];
    }
    kernel_(rows_);
    scatter(rows_.value, out_.value);
    scatter(rows_.d_mean, out_.d_mean);
    scatter(rows_.d_variance, out_.d_variance);
    count_ = 0;
  }

 private:
  void scatter(const double* from, std::span<double> to) const {
    if (to.empty()) return;
    for (int i = 0; i < count_; ++i) to[index_[i]] = from[i];
  }

  Kernel kernel_;
  ExpectationSpans out_;
  RowPack rows_;
  std::array<std::size_t, lanes> index_{};
  int count_ = 0;
};

// ---- functions by nodes --------------------------------------------------------------------------------------------

// Some nodes of one row, their weights, and the sums over them.
constexpr int node_chunk = 32;
struct NodeChunk {
  alignas(64) double x[node_chunk];
  alignas(64) double weight[node_chunk];
};
struct NodeSums {
  alignas(64) double weight[node_chunk] = {};
  alignas(64) double value[node_chunk] = {};
  alignas(64) double first[node_chunk] = {};
  alignas(64) double second[node_chunk] = {};
};

// x = origin + scale sinh(t): resolves the function near its singularities origin +- i scale, and the Gaussian wherever
// it is at most a few deviations away from them.
struct SinhGrid {
  double origin, scale, mean, inverse_deviation, step, first;
};

GAUSSMITH_INLINE void sinh_nodes(const SinhGrid& grid, double first, NodeChunk& nodes) {
  for (int i = 0; i < node_chunk; ++i) {
    const double e = elementary::exp(grid.step * (first + i));
    const double inverse = 1.0 / e;
    const double x = grid.origin + 0.5 * grid.scale * (e - inverse);
    const double z = (x - grid.mean) * grid.inverse_deviation;
    nodes.x[i] = x;
    nodes.weight[i] = (e + inverse) * elementary::exp(-0.5 * z * z);
  }
}

GAUSSMITH_INLINE void add_log_ndtr(const NodeChunk& nodes, NodeSums& sums) {
  for (int i = 0; i < node_chunk; ++i) {
    const double x = nodes.x[i];
    const double weight = nodes.weight[i];
    const double y = std::fabs(x);
    const double excess = elementary::mills_excess(y);
    const double ratio = y + excess;  // phi(y)/Phi(-y)
    const double half_square = 0.5 * y * y;
    const double density = inverse_sqrt_two_pi * elementary::exp(-half_square);
    const double tail = density / ratio;
    // Right of 0: log(1 - tail). Left of 0: log(phi/ratio), where no difference of large numbers is needed.
    const double logarithm = elementary::log_corrected(x > 0.0 ? 1.0 - tail : ratio, 0.0);
    const double right_ratio = density / (1.0 - tail);
    sums.weight[i] += weight;
    sums.value[i] += weight * (x > 0.0 ? logarithm : -half_square - log_sqrt_two_pi - logarithm);
    sums.first[i] += weight * (x > 0.0 ? right_ratio : ratio);
    sums.second[i] -= weight * (x > 0.0 ? right_ratio * (x + right_ratio) : ratio * excess);
  }
}

GAUSSMITH_INLINE void add_log1p_square(const NodeChunk& nodes, NodeSums& sums) {
  for (int i = 0; i < node_chunk; ++i) {
    const double x = nodes.x[i];
    const double weight = nodes.weight[i];
    const double square = x * x;
    const double inverse = 1.0 / (1.0 + square);
    sums.weight[i] += weight;
    sums.value[i] += weight * elementary::log1p(square);
    sums.first[i] += weight * (2.0 * x * inverse);
    sums.second[i] += weight * (2.0 * ((1.0 - square) * inverse) * inverse);
  }
}

GAUSSMITH_VECTORISED void log_ndtr_sinh(const SinhGrid& grid, int chunks, NodeSums& sums) {
  NodeChunk nodes;
  for (int c = 0; c < chunks; ++c) {
    sinh_nodes(grid, grid.first + c * node_chunk, nodes);
    add_log_ndtr(nodes, sums);
  }
}
GAUSSMITH_VECTORISED void log_ndtr_nodes(const NodeChunk& nodes, NodeSums& sums) { add_log_ndtr(nodes, sums); }

GAUSSMITH_VECTORISED void log1p_square_sinh(const SinhGrid& grid, int chunks, NodeSums& sums) {
  NodeChunk nodes;
  for (int c = 0; c < chunks; ++c) {
    sinh_nodes(grid, grid.first + c * node_chunk, nodes);
    add_log1p_square(nodes, sums);
  }
}
GAUSSMITH_VECTORISED void log1p_square_nodes(const NodeChunk& nodes, NodeSums& sums) { add_log1p_square(nodes, sums); }

// How one of the functions is integrated.
struct NodeScheme {
  double origin, scale;      // Singularities nearest to the real line are at about origin +- i scale.
  double narrow;             // Up to this deviation the plain trapezoidal rule resolves them.
  bool grows_quadratically;  // Then far tails of wide Gaussians count.
  void (*sinh)(const SinhGrid&, int, NodeSums&);
  void (*nodes)(const NodeChunk&, NodeSums&);
};

double total(const double (&lane)[node_chunk]) {
  double sum = 0.0;
  for (double x : lane) sum += x;
  return sum;
}

void expectation_by_nodes(const NodeScheme& scheme, std::span<const double> mean, std::span<const double> variance,
                          const ExpectationSpans& out) {
  const TrapezoidRule& rule = trapezoid_rule();
  for (std::size_t row = 0; row < mean.size(); ++row) {
    const double m = mean[row];
    const double s = std::sqrt(variance[row]);
    const double distance = std::fabs(m - scheme.origin);
    // The tail beyond `reach` deviations holds less than 1e-15 of the mass, and of the second moment if that counts.
    const double reach = scheme.grows_quadratically ? std::sqrt(72.0 + 4.0 * std::log1p(variance[row])) : 8.5;
    NodeSums sums;
    if (s <= scheme.narrow || !(distance <= (reach < 9.5 ? 9.5 : reach) * s)) {
      NodeChunk nodes;
      for (int i = 0; i < node_chunk; ++i) {
        const bool used = i < trapezoid_nodes;
        nodes.x[i] = used ? m + s * rule.z[i] : m;
        nodes.weight[i] = used ? rule.weight[i] : 0.0;
      }
      scheme.nodes(nodes, sums);
    } else {
      SinhGrid grid{scheme.origin, scheme.scale, m, 1.0 / s, 0.0, 0.0};
      const double local =
          1.0 / std::sqrt(1.0 + (scheme.scale / s) * (scheme.scale / s) + (distance / s) * (distance / s));
      grid.step = std::fmin(0.1, 0.35 * local);
      grid.first = std::floor(std::asinh((m - reach * s - scheme.origin) / scheme.scale) / grid.step);
      const double last = std::ceil(std::asinh((m + reach * s - scheme.origin) / scheme.scale) / grid.step);
      scheme.sinh(grid, static_cast<int>((last - grid.first) / node_chunk) + 1, sums);
    }
    const double inverse = 1.0 / total(sums.weight);
    if (!out.value.empty()) out.value[row] = inverse * total(sums.value);
    if (!out.d_mean.empty()) out.d_mean[row] = inverse * total(sums.first);
    if (!out.d_variance.empty()) out.d_variance[row] = 0.5 * inverse * total(sums.second);
  }
}

}  // namespace

const int softplus_expectation_nodes = trapezoid_nodes;

void softplus_expectation(std::span<const double> mean, std::span<const double> variance, const ExpectationSpans& out) {
  const TrapezoidRule& rule = trapezoid_rule();
  const RemainderTable& table = remainder_table();
  PackQueue narrow([&rule](RowPack& rows) { softplus_narrow(rows, rule); }, out);
  PackQueue wide([&table](RowPack& rows) { softplus_wide(rows, table); }, out);
  for (std::size_t row = 0; row < mean.size(); ++row) {
    const double s = std::sqrt(variance[row]);
    if (s > 1.0) {
      wide.push(row, mean[row], s);
    } else {
      narrow.push(row, mean[row], s);
    }
  }
  narrow.flush();
  wide.flush();
}

void log_ndtr_expectation(std::span<const double> mean, std::span<const double> variance, const ExpectationSpans& out) {
  // The zeros of Phi nearest to the real line are 1.916 +- 2.816 i.
  expectation_by_nodes({1.9, 2.8, 0.8, true, log_ndtr_sinh, log_ndtr_nodes}, mean, variance, out);
}

void log1p_square_expectation(std::span<const double> mean, std::span<const double> variance,
                              const ExpectationSpans& out) {
  expectation_by_nodes({0.0, 1.0, 0.25, false, log1p_square_sinh, log1p_square_nodes}, mean, variance, out);
}

}  // namespace gaussmith
