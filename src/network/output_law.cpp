#include "network/output_law.hpp"

#include "network/scale_prior.hpp"

#include "numerics/elementary.hpp"
#include "numerics/special.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

constexpr std::size_t lanes = 32;
constexpr std::size_t most_nodes = 32;

/// exponent = base - e^2 / (2 (V + largest)), factor = sum over nodes of factor (V + noise)^(-1/2) exp(-e^2 k / 2 -
/// exponent). The rows of a node stand side by side, `stride` numbers from those of the next; the last node is the
/// largest.
GAUSSMITH_VECTORISED void normaliser_chunk(std::size_t nodes, std::size_t stride, const double* __restrict noise,
                                           const double* __restrict share, const double* __restrict response,
                                           const double* __restrict base, const double* __restrict mean,
                                           const double* __restrict variance, double* __restrict exponent,
                                           double* __restrict factor) {
  alignas(64) double half_square[lanes];
  alignas(64) double flattest[lanes];
  alignas(64) double sum[lanes];
  const std::size_t last = (nodes - 1) * stride;
  for (std::size_t i = 0; i < lanes; ++i) {
    const double error = response[i] - mean[i];
    half_square[i] = -0.5 * error * error;
    flattest[i] = 1.0 / (variance[i] + noise[last + i]);
    exponent[i] = base[i] + half_square[i] * flattest[i];
    sum[i] = share[last + i] * std::sqrt(flattest[i]);
  }
  for (std::size_t s = 0; s + 1 < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double k = 1.0 / (variance[i] + noise[s * stride + i]);
      sum[i] += share[s * stride + i] * std::sqrt(k) * elementary::exp_bounded(half_square[i] * (k - flattest[i]));
    }
  for (std::size_t i = 0; i < lanes; ++i) factor[i] = sum[i];
}

/// The nodes of theta in a chunk of rows: their shares in the tilted normaliser, which is exp(log_normaliser), and
/// 1 / (V + noise).
struct NodeShares {
  alignas(64) double error[lanes], base[lanes], variance[lanes], log_normaliser[lanes];
  alignas(64) double weight[most_nodes][lanes], precision[most_nodes][lanes];
  alignas(64) double mean[lanes], spread[lanes];  // Of what mean_and_spread was asked for.
};

GAUSSMITH_VECTORISED void find_shares(std::size_t nodes, std::size_t stride, const double* __restrict noise,
                                      const double* __restrict share, NodeShares& at) {
  alignas(64) double flattest[lanes];
  alignas(64) double total[lanes] = {};
  for (std::size_t i = 0; i < lanes; ++i) flattest[i] = 1.0 / (at.variance[i] + noise[(nodes - 1) * stride + i]);
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double k = 1.0 / (at.variance[i] + noise[s * stride + i]);
      const double weight = share[s * stride + i] * std::sqrt(k) *
                            elementary::exp_bounded(-0.5 * at.error[i] * at.error[i] * (k - flattest[i]));
      at.precision[s][i] = k;
      at.weight[s][i] = weight;
      total[i] += weight;
    }
  for (std::size_t i = 0; i < lanes; ++i) {
    at.log_normaliser[i] = at.base[i] - 0.5 * at.error[i] * at.error[i] * flattest[i] + elementary::log(total[i]);
    total[i] = 1.0 / total[i];
  }
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) at.weight[s][i] *= total[i];
}

/// Of values of the nodes under their shares.
GAUSSMITH_VECTORISED void mean_and_spread(std::size_t nodes, const double (*__restrict value)[lanes], NodeShares& at) {
  for (std::size_t i = 0; i < lanes; ++i) at.mean[i] = at.spread[i] = 0.0;
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) at.mean[i] += at.weight[s][i] * value[s][i];
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double apart = value[s][i] - at.mean[i];
      at.spread[i] += at.weight[s][i] * apart * apart;
    }
}

/// The integrands over theta of a chunk of rows, N(theta | centre, deviation^2) e^((1 - p) theta / 2) N(e | 0, V +
/// e^theta / p), and the normals with their peaks and the curvatures there.
struct NoiseIntegrands {
  alignas(64) double centre[lanes], deviation[lanes], square_error[lanes], variance[lanes];
  alignas(64) double theta[lanes], width[lanes], moving[lanes];
  double power = 1.0;

  [[nodiscard]] double log_value(std::size_t i, double at) const {
    const double x = (at - centre[i]) / deviation[i], q = variance[i] + std::exp(at) / power;
    return 0.5 * ((1.0 - power) * at - x * x - std::log(q) - square_error[i] / q);
  }
};

constexpr double least_curvature = 0.25;  // Of that of the cavity: between two peaks there may be none.

/// The first two derivatives of the logarithm of an integrand; the second, with the sign changed, not too small.
GAUSSMITH_INLINE void derivatives(const NoiseIntegrands& of, std::size_t i, double& slope, double& precision) {
  const double s = elementary::exp(of.theta[i]) / of.power, inverse = 1.0 / (of.variance[i] + s);
  const double of_cavity = 1.0 / (of.deviation[i] * of.deviation[i]);
  const double share = s * inverse, excess = of.square_error[i] * inverse;
  const double pull = share * (excess - 1.0);
  slope = 0.5 * (1.0 - of.power) + 0.5 * pull - (of.theta[i] - of.centre[i]) * of_cavity;
  const double curvature = of_cavity - 0.5 * pull + 0.5 * share * share * (2.0 * excess - 1.0);
  const double least = least_curvature * of_cavity;
  precision = curvature > least ? curvature : least;
}

/// A step of Newton's method in those rows that have not arrived.
GAUSSMITH_VECTORISED void step_to_peaks(NoiseIntegrands& of) {
  for (std::size_t i = 0; i < lanes; ++i) {
    double slope = 0.0, precision = 1.0;
    derivatives(of, i, slope, precision);
    const double whole = slope / precision;
    const double step = whole > 1.0 ? 1.0 : whole < -1.0 ? -1.0 : whole;
    of.theta[i] += of.moving[i] * step;
    of.moving[i] = std::fabs(step) > 1e-12 * of.deviation[i] ? of.moving[i] : 0.0;
  }
}

GAUSSMITH_VECTORISED void find_widths(NoiseIntegrands& of) {
  for (std::size_t i = 0; i < lanes; ++i) {
    double slope = 0.0, precision = 1.0;
    derivatives(of, i, slope, precision);
    of.width[i] = 1.0 / std::sqrt(precision);
  }
}

/// Where the integrands are largest.
void find_peaks(std::size_t count, NoiseIntegrands& of) {
  constexpr double far_error = 9.0;  // Squared, in variances of y: beyond it a second peak is looked for.
  constexpr int looks = 16, steps = 60;
  for (std::size_t i = 0; i < lanes; ++i) {
    of.theta[i] = of.centre[i];
    of.moving[i] = 1.0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!(of.square_error[i] > far_error * (of.variance[i] + std::exp(of.theta[i]) / of.power))) continue;
    const double top = std::max(of.theta[i], std::log(of.power * of.square_error[i]));
    double best = of.log_value(i, of.theta[i]);
    for (int k = 1; k <= looks; ++k) {
      const double at = of.centre[i] + (top - of.centre[i]) * k / looks;
      if (const double value = of.log_value(i, at); value > best) {
        best = value;
        of.theta[i] = at;
      }
    }
  }
  for (int k = 0; k < steps; ++k) {
    step_to_peaks(of);
    if (std::all_of(of.moving, of.moving + count, [](double moving) { return moving == 0.0; })) break;
  }
  find_widths(of);
}

/// The nodes of the rules of a chunk of rows: e^theta / p, and the rest of the integrand over exp(highest).
struct NoiseNodes {
  alignas(64) double mean[lanes], deviation[lanes];  // Of the cavity,
  alignas(64) double centre[lanes], width[lanes];    // and of the rule.
  alignas(64) double noise[most_nodes][lanes], factor[most_nodes][lanes], highest[lanes];
};

/// N(y | m, V + e^theta / p) brings (2 pi)^(-1/2) and the power (2 pi e^theta)^((1 - p) / 2); then the cavity over the
/// normal of the rule.
GAUSSMITH_VECTORISED void find_nodes(std::size_t nodes, const double* __restrict node, const double* __restrict weight,
                                     double power, double constant, NoiseNodes& at) {
  alignas(64) double inverse[lanes];
  alignas(64) double wider[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    const bool known = at.deviation[i] == 0.0;
    inverse[i] = known ? 0.0 : 1.0 / at.deviation[i];
    wider[i] = known ? 0.0 : elementary::log(at.width[i] * inverse[i]);
    at.highest[i] = -elementary::infinity;
  }
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double theta = at.centre[i] + at.width[i] * node[s];
      const double apart = (theta - at.mean[i]) * inverse[i];
      const double square = inverse[i] > 0.0 ? node[s] * node[s] : 0.0;
      const double exponent = constant + 0.5 * (1.0 - power) * theta + 0.5 * (square - apart * apart) + wider[i];
      at.noise[s][i] = elementary::exp(theta) / power;
      at.factor[s][i] = exponent;
      at.highest[i] = exponent > at.highest[i] ? exponent : at.highest[i];
    }
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i)
      at.factor[s][i] = weight[s] * elementary::exp(at.factor[s][i] - at.highest[i]);
}

}  // namespace

void CatalogueOutput::slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const {
  // slope and curvature hold the tilted moments first.
  sites_->tilted(first, mean, variance, power_,
                 {.log_normaliser = out.log_normaliser, .mean = out.slope, .variance = out.curvature});
  for (std::size_t i = 0; i < mean.size(); ++i) {
    out.slope[i] = (out.slope[i] - mean[i]) / variance[i];
    out.curvature[i] = (variance[i] - out.curvature[i]) / (variance[i] * variance[i]);
  }
}

void CatalogueOutput::normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const {
  sites_->tilted(first, mean, variance, power_, {.log_normaliser = exponent, .mean = {}, .variance = {}});
  std::fill(factor.begin(), factor.end(), 1.0);
}

NoisyOutput::NoisyOutput(const Vector& responses, double power, Index nodes)
    : responses_(&responses),
      power_(power),
      rule_(gauss_hermite(nodes)),
      noise_(Matrix::Ones(responses.size() + static_cast<Index>(lanes), nodes)),
      factor_(Matrix::Ones(responses.size() + static_cast<Index>(lanes), nodes)),
      centre_(responses.size()),
      deviation_(responses.size()),
      exponent_(Vector::Zero(responses.size())) {}

void NoisyOutput::set_noise(Index first, ConstSpan mean, ConstSpan variance, ConstSpan output_mean,
                            ConstSpan output_variance) {
  NoiseIntegrands integrands{};
  integrands.power = power_;
  std::fill_n(integrands.deviation, lanes, 1.0);
  std::fill_n(integrands.variance, lanes, 1.0);
  for (std::size_t begin = 0; begin < mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - begin);
    const Index row = first + static_cast<Index>(begin);
    for (std::size_t i = 0; i < count; ++i) {
      centre_(row + static_cast<Index>(i)) = mean[begin + i];
      deviation_(row + static_cast<Index>(i)) = std::sqrt(variance[begin + i]);
    }
    if (output_mean.empty()) continue;
    for (std::size_t i = 0; i < count; ++i) {
      const double error = (*responses_)(row + static_cast<Index>(i)) - output_mean[begin + i];
      integrands.centre[i] = mean[begin + i];
      integrands.deviation[i] = std::sqrt(variance[begin + i]);
      integrands.square_error[i] = error * error;
      integrands.variance[i] = output_variance[begin + i];
    }
    find_peaks(count, integrands);
    for (std::size_t i = 0; i < count; ++i) {
      if (!(variance[begin + i] > 0.0) || !std::isfinite(integrands.theta[i]) || !std::isfinite(integrands.width[i]))
        continue;
      centre_(row + static_cast<Index>(i)) = integrands.theta[i];
      deviation_(row + static_cast<Index>(i)) = integrands.width[i];
    }
  }
  set_nodes(first, mean, variance);
}

void NoisyOutput::set_noise(Index first, ConstSpan mean, ConstSpan variance, const NoisyOutput& like) {
  const auto count = static_cast<Index>(mean.size());
  centre_.segment(first, count) = like.centre_.segment(first, count);
  deviation_.segment(first, count) = like.deviation_.segment(first, count);
  set_nodes(first, mean, variance);
}

void NoisyOutput::set_nodes(Index first, ConstSpan mean, ConstSpan variance) {
  const double constant = -0.5 * std::log(power_) - power_ * log_sqrt_two_pi;
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  NoiseNodes at{};
  std::fill_n(at.deviation, lanes, 1.0);
  std::fill_n(at.width, lanes, 1.0);
  for (std::size_t begin = 0; begin < mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - begin);
    const Index row = first + static_cast<Index>(begin);
    for (std::size_t i = 0; i < count; ++i) {
      at.mean[i] = mean[begin + i];
      at.deviation[i] = std::sqrt(variance[begin + i]);
    }
    std::copy_n(&centre_(row), count, at.centre);
    std::copy_n(&deviation_(row), count, at.width);
    find_nodes(nodes, rule_.node.data(), rule_.weight.data(), power_, constant, at);
    for (std::size_t s = 0; s < nodes; ++s) {
      std::copy_n(at.noise[s], count, &noise_(row, static_cast<Index>(s)));
      std::copy_n(at.factor[s], count, &factor_(row, static_cast<Index>(s)));
    }
    std::copy_n(at.highest, count, &exponent_(row));
  }
}

void NoisyOutput::normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const {
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  const auto stride = static_cast<std::size_t>(noise_.rows());
  for (std::size_t begin = 0; begin < mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - begin);
    const Index row = first + static_cast<Index>(begin);
    if (count == lanes) {
      normaliser_chunk(nodes, stride, &noise_(row, 0), &factor_(row, 0), &(*responses_)(row), &exponent_(row),
                       &mean[begin], &variance[begin], &exponent[begin], &factor[begin]);
      continue;
    }
    alignas(64) std::array<double, lanes> y{}, base{}, m{}, v{}, e{}, f{};
    v.fill(1.0);
    std::copy_n(&(*responses_)(row), count, y.begin());
    std::copy_n(&exponent_(row), count, base.begin());
    std::copy_n(&mean[begin], count, m.begin());
    std::copy_n(&variance[begin], count, v.begin());
    normaliser_chunk(nodes, stride, &noise_(row, 0), &factor_(row, 0), y.data(), base.data(), m.data(), v.data(),
                     e.data(), f.data());
    std::copy_n(e.begin(), count, &exponent[begin]);
    std::copy_n(f.begin(), count, &factor[begin]);
  }
}

template <class Use>
void NoisyOutput::with_shares(Index first, ConstSpan mean, ConstSpan variance, const Use& use) const {
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  const auto stride = static_cast<std::size_t>(noise_.rows());
  NodeShares at{};
  std::fill_n(at.variance, lanes, 1.0);
  for (std::size_t begin = 0; begin < mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - begin);
    const Index row = first + static_cast<Index>(begin);
    for (std::size_t i = 0; i < count; ++i) at.error[i] = (*responses_)(row + static_cast<Index>(i)) - mean[begin + i];
    std::copy_n(&exponent_(row), count, at.base);
    std::copy_n(&variance[begin], count, at.variance);
    find_shares(nodes, stride, &noise_(row, 0), &factor_(row, 0), at);
    use(begin, count, at);
  }
}

void NoisyOutput::slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const {
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  with_shares(first, mean, variance, [&](std::size_t begin, std::size_t count, NodeShares& at) {
    mean_and_spread(nodes, at.precision, at);
    for (std::size_t i = 0; i < count; ++i) {
      out.log_normaliser[begin + i] = at.log_normaliser[i];
      out.slope[begin + i] = at.error[i] * at.mean[i];
      out.curvature[begin + i] = at.mean[i] - at.error[i] * at.error[i] * at.spread[i];
    }
  });
}

void NoisyOutput::noise_moments(Index first, ConstSpan mean, ConstSpan variance, Span noise_mean,
                                Span noise_variance) const {
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  alignas(64) double node[most_nodes][lanes];
  for (std::size_t s = 0; s < nodes; ++s) std::fill_n(node[s], lanes, rule_.node(static_cast<Index>(s)));
  with_shares(first, mean, variance, [&](std::size_t begin, std::size_t count, NodeShares& at) {
    mean_and_spread(nodes, node, at);
    for (std::size_t i = 0; i < count; ++i) {
      const Index row = first + static_cast<Index>(begin + i);
      noise_mean[begin + i] = centre_(row) + deviation_(row) * at.mean[i];
      noise_variance[begin + i] = deviation_(row) * deviation_(row) * at.spread[i];
    }
  });
}

}  // namespace gaussmith
