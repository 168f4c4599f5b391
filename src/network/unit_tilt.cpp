#include "network/unit_tilt.hpp"

#include "numerics/elementary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace gaussmith {

namespace {

constexpr std::size_t lanes = 32;
constexpr std::size_t unit_nodes = 16;
/// A rule is right for a density whose mean is within so many of its deviations and whose variance is within these
/// shares of its own; otherwise it moves there, no faster than so, and so often at most.
constexpr double furthest_mean = 1.0, least_variance = 0.4, most_variance = 1.8;
constexpr double smallest_shrink = 0.1, largest_growth = 4.0;
constexpr int most_rules = 12;

/// A chunk of rows, every quantity side by side; rows beyond the last have harmless numbers.
struct Chunk {
  alignas(64) double mean[lanes], deviation[lanes], precision[lanes], shift[lanes], activation[lanes];
  alignas(64) double output_mean[lanes], output_variance[lanes], weight_mean[lanes], weight_variance[lanes];
  alignas(64) double covariance[lanes];
  alignas(64) double centre[lanes], width[lanes];  // Of the rule, in deviations of q(h) from its mean.
  alignas(64) double node_mean[unit_nodes][lanes], node_variance[unit_nodes][lanes];
  alignas(64) double exponent[unit_nodes][lanes], factor[unit_nodes][lanes], beside[unit_nodes][lanes];
  alignas(64) double mean_shift[lanes], variance_ratio[lanes];  // In units of the rule.
};

/// Mean and variance of f at the nodes of h, and the logarithm of what the cavity has over the normal of the rule.
GAUSSMITH_VECTORISED void outputs_at_nodes(const double* __restrict node, Chunk& chunk) {
  for (std::size_t q = 0; q < unit_nodes; ++q)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double x = chunk.centre[i] + chunk.width[i] * node[q];
      const double h = chunk.mean[i] + chunk.deviation[i] * x;
      const double apart = 2.0 * elementary::ndtr(h) - 1.0 - chunk.activation[i];
      chunk.node_mean[q][i] = chunk.output_mean[i] + apart * chunk.weight_mean[i];
      chunk.node_variance[q][i] =
          chunk.output_variance[i] + apart * (2.0 * chunk.covariance[i] + apart * chunk.weight_variance[i]);
      chunk.beside[q][i] = h * (0.5 * chunk.precision[i] * h - chunk.shift[i]) + 0.5 * (node[q] - x) * (node[q] + x);
    }
}

GAUSSMITH_VECTORISED void moments_of_nodes(const double* __restrict node, const double* __restrict weight,
                                           Chunk& chunk) {
  alignas(64) double highest[lanes];
  alignas(64) double total[lanes] = {};
  alignas(64) double first[lanes] = {};
  alignas(64) double second[lanes] = {};
  for (std::size_t i = 0; i < lanes; ++i) highest[i] = chunk.exponent[0][i] + chunk.beside[0][i];
  for (std::size_t q = 1; q < unit_nodes; ++q)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double e = chunk.exponent[q][i] + chunk.beside[q][i];
      highest[i] = e > highest[i] ? e : highest[i];
    }
  for (std::size_t q = 0; q < unit_nodes; ++q)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double e = chunk.exponent[q][i] + chunk.beside[q][i] - highest[i];
      const double share = weight[q] * chunk.factor[q][i] * elementary::exp_bounded(e);
      chunk.factor[q][i] = share;
      total[i] += share;
      first[i] += share * node[q];
    }
  for (std::size_t i = 0; i < lanes; ++i) first[i] /= total[i];
  for (std::size_t q = 0; q < unit_nodes; ++q)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double apart = node[q] - first[i];
      second[i] += chunk.factor[q][i] * apart * apart;
    }
  for (std::size_t i = 0; i < lanes; ++i) {
    chunk.mean_shift[i] = first[i];
    chunk.variance_ratio[i] = second[i] / total[i];
  }
}

/// Moves the rules that are wrong for what they found; false where there is none.
bool move_rules(std::size_t count, Chunk& chunk) {
  bool moved = false;
  for (std::size_t i = 0; i < count; ++i) {
    const double shift = chunk.mean_shift[i], ratio = chunk.variance_ratio[i];
    if (std::abs(shift) <= furthest_mean && ratio >= least_variance && ratio <= most_variance) continue;
    if (!std::isfinite(shift) || !std::isfinite(ratio)) continue;
    chunk.centre[i] += chunk.width[i] * shift;
    chunk.width[i] *= std::sqrt(std::clamp(ratio, smallest_shrink, largest_growth));
    moved = true;
  }
  return moved;
}

}  // namespace

void tilt_unit(const OutputLaw& law, Index first, const UnitInFocus& unit, Span mean_shift, Span variance_ratio) {
  static const GaussHermite rule = gauss_hermite(static_cast<Index>(unit_nodes));
  Chunk chunk{};
  for (std::size_t begin = 0; begin < unit.mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, unit.mean.size() - begin);
    const auto take = [&](ConstSpan from, double* to) {
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), count, to);
    };
    take(unit.mean, chunk.mean);
    for (std::size_t i = 0; i < count; ++i) chunk.deviation[i] = std::sqrt(unit.variance[begin + i]);
    take(unit.precision, chunk.precision);
    take(unit.shift, chunk.shift);
    take(unit.activation, chunk.activation);
    take(unit.output_mean, chunk.output_mean);
    take(unit.output_variance, chunk.output_variance);
    take(unit.weight_mean, chunk.weight_mean);
    take(unit.weight_variance, chunk.weight_variance);
    take(unit.covariance, chunk.covariance);
    std::fill_n(chunk.centre, lanes, 0.0);
    std::fill_n(chunk.width, lanes, 1.0);
    for (int rules = 1;; ++rules) {
      outputs_at_nodes(rule.node.data(), chunk);
      for (std::size_t q = 0; q < unit_nodes; ++q)
        law.normaliser(first + static_cast<Index>(begin), ConstSpan(chunk.node_mean[q], count),
                       ConstSpan(chunk.node_variance[q], count), Span(chunk.exponent[q], count),
                       Span(chunk.factor[q], count));
      moments_of_nodes(rule.node.data(), rule.weight.data(), chunk);
      if (rules == most_rules || !move_rules(count, chunk)) break;
    }
    for (std::size_t i = 0; i < count; ++i) {
      mean_shift[begin + i] = chunk.centre[i] + chunk.width[i] * chunk.mean_shift[i];
      variance_ratio[begin + i] = chunk.width[i] * chunk.width[i] * chunk.variance_ratio[i];
    }
  }
}

}  // namespace gaussmith
