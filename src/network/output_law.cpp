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
constexpr Index most_nodes = 32;

/// exponent = -e^2 / (2 (V + largest)), factor = sum over nodes of factor (V + noise)^(-1/2) exp(-e^2 k / 2 -
/// exponent). The rows of a node stand side by side, `stride` numbers from those of the next; the last node is the
/// largest.
GAUSSMITH_VECTORISED void normaliser_chunk(std::size_t nodes, std::size_t stride, const double* __restrict noise,
                                           const double* __restrict share, const double* __restrict error,
                                           const double* __restrict variance, double* __restrict exponent,
                                           double* __restrict factor) {
  alignas(64) double half_square[lanes];
  alignas(64) double flattest[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    half_square[i] = -0.5 * error[i] * error[i];
    flattest[i] = 1.0 / (variance[i] + noise[(nodes - 1) * stride + i]);
    exponent[i] = half_square[i] * flattest[i];
    factor[i] = 0.0;
  }
  for (std::size_t s = 0; s < nodes; ++s)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double k = 1.0 / (variance[i] + noise[s * stride + i]);
      factor[i] += share[s * stride + i] * std::sqrt(k) * elementary::exp_bounded(half_square[i] * (k - flattest[i]));
    }
}

/// The integrand over theta of a row, N(theta | centre, deviation^2) e^((1 - p) theta / 2) N(e | 0, V + e^theta / p).
struct NoiseIntegrand {
  double centre, deviation, power, square_error, variance;

  [[nodiscard]] double log_value(double theta) const {
    const double x = (theta - centre) / deviation, q = variance + std::exp(theta) / power;
    return 0.5 * ((1.0 - power) * theta - x * x - std::log(q) - square_error / q);
  }
  /// The first two derivatives of its logarithm.
  void derivatives(double theta, double& slope, double& curvature) const {
    const double s = std::exp(theta) / power, q = variance + s, precision = 1.0 / (deviation * deviation);
    const double pull = s * (square_error / q - 1.0) / q;
    slope = 0.5 * (1.0 - power) + 0.5 * pull - (theta - centre) * precision;
    curvature = 0.5 * pull - 0.5 * s * s * (2.0 * square_error / q - 1.0) / (q * q) - precision;
  }
};

/// Where it is largest, and the deviation of the normal with its curvature there.
Normal peak_of(const NoiseIntegrand& integrand) {
  constexpr double far_error = 9.0;  // Squared, in variances of y: beyond it a second peak is looked for.
  constexpr int looks = 16, steps = 60;
  constexpr double least_curvature = 0.25;  // Of that of the cavity: between two peaks there may be none.
  double theta = integrand.centre;
  if (integrand.square_error > far_error * (integrand.variance + std::exp(theta) / integrand.power)) {
    const double top = std::max(theta, std::log(integrand.power * integrand.square_error));
    double best = integrand.log_value(theta);
    for (int k = 1; k <= looks; ++k) {
      const double at = integrand.centre + (top - integrand.centre) * k / looks;
      if (const double value = integrand.log_value(at); value > best) {
        best = value;
        theta = at;
      }
    }
  }
  const double precision = 1.0 / (integrand.deviation * integrand.deviation);
  double slope = 0.0, curvature = 0.0;
  for (int k = 0; k < steps; ++k) {
    integrand.derivatives(theta, slope, curvature);
    const double step = std::clamp(slope / std::max(-curvature, least_curvature * precision), -1.0, 1.0);
    theta += step;
    if (std::abs(step) <= 1e-12 * integrand.deviation) break;
  }
  integrand.derivatives(theta, slope, curvature);
  return {theta, 1.0 / std::max(-curvature, least_curvature * precision)};
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
  const double constant = -0.5 * std::log(power_) - power_ * log_sqrt_two_pi;
  std::array<double, most_nodes> exponent{};
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const Index row = first + static_cast<Index>(i);
    const double deviation = std::sqrt(variance[i]);
    Normal rule{mean[i], variance[i]};
    if (!output_mean.empty() && variance[i] > 0.0) {
      const double error = (*responses_)(row)-output_mean[i];
      const Normal peak = peak_of({mean[i], deviation, power_, error * error, output_variance[i]});
      if (std::isfinite(peak.mean) && std::isfinite(peak.variance)) rule = peak;
    }
    centre_(row) = rule.mean;
    deviation_(row) = std::sqrt(rule.variance);
    const bool moved = variance[i] > 0.0;
    for (std::size_t s = 0; s < nodes; ++s) {
      const double x = rule_.node(static_cast<Index>(s)), theta = centre_(row) + deviation_(row) * x;
      // N(y | m, V + e^theta / p) brings (2 pi)^(-1/2) and the power (2 pi e^theta)^((1 - p) / 2); then the cavity over
      // the normal of the rule.
      exponent[s] = constant + 0.5 * (1.0 - power_) * theta;
      if (moved) {
        const double apart = (theta - mean[i]) / deviation;
        exponent[s] += 0.5 * (x * x - apart * apart) + std::log(deviation_(row) / deviation);
      }
      noise_(row, static_cast<Index>(s)) = std::exp(theta) / power_;
    }
    exponent_(row) = *std::max_element(exponent.begin(), exponent.begin() + static_cast<std::ptrdiff_t>(nodes));
    for (std::size_t s = 0; s < nodes; ++s)
      factor_(row, static_cast<Index>(s)) =
          rule_.weight(static_cast<Index>(s)) * std::exp(exponent[s] - exponent_(row));
  }
}

void NoisyOutput::normaliser(Index first, ConstSpan mean, ConstSpan variance, Span exponent, Span factor) const {
  const auto nodes = static_cast<std::size_t>(rule_.node.size());
  const auto stride = static_cast<std::size_t>(noise_.rows());
  alignas(64) std::array<double, lanes> error{}, spread{}, e{}, f{};
  for (std::size_t begin = 0; begin < mean.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - begin);
    const Index row = first + static_cast<Index>(begin);
    spread.fill(1.0);
    for (std::size_t i = 0; i < count; ++i) {
      error[i] = (*responses_)(row + static_cast<Index>(i)) - mean[begin + i];
      spread[i] = variance[begin + i];
    }
    normaliser_chunk(nodes, stride, &noise_(row, 0), &factor_(row, 0), error.data(), spread.data(), e.data(), f.data());
    for (std::size_t i = 0; i < count; ++i) exponent[begin + i] = e[i] + exponent_(row + static_cast<Index>(i));
    std::copy_n(f.begin(), count, factor.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

void NoisyOutput::shares(Index row, double mean, double variance, double* weight, double* precision,
                         double& log_normaliser) const {
  const Index nodes = rule_.node.size();
  const double e = (*responses_)(row)-mean;
  const double exponent = -0.5 * e * e / (variance + noise_(row, nodes - 1));
  double total = 0.0;
  for (Index s = 0; s < nodes; ++s) {
    precision[s] = 1.0 / (variance + noise_(row, s));
    weight[s] = factor_(row, s) * std::sqrt(precision[s]) * std::exp(-0.5 * e * e * precision[s] - exponent);
    total += weight[s];
  }
  for (Index s = 0; s < nodes; ++s) weight[s] /= total;
  log_normaliser = exponent_(row) + exponent + std::log(total);
}

void NoisyOutput::slopes(Index first, ConstSpan mean, ConstSpan variance, const OutputSlopes& out) const {
  std::array<double, most_nodes> weight, precision;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const Index row = first + static_cast<Index>(i);
    shares(row, mean[i], variance[i], weight.data(), precision.data(), out.log_normaliser[i]);
    const double e = (*responses_)(row)-mean[i];
    double average = 0.0, square = 0.0;
    for (Index s = 0; s < rule_.node.size(); ++s)
      average += weight[static_cast<std::size_t>(s)] * precision[static_cast<std::size_t>(s)];
    for (Index s = 0; s < rule_.node.size(); ++s) {
      const double apart = precision[static_cast<std::size_t>(s)] - average;
      square += weight[static_cast<std::size_t>(s)] * apart * apart;
    }
    out.slope[i] = e * average;
    out.curvature[i] = average - e * e * square;
  }
}

void NoisyOutput::noise_moments(Index first, ConstSpan mean, ConstSpan variance, Span noise_mean,
                                Span noise_variance) const {
  std::array<double, most_nodes> weight, precision;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const Index row = first + static_cast<Index>(i);
    double unused = 0.0;
    shares(row, mean[i], variance[i], weight.data(), precision.data(), unused);
    double average = 0.0, square = 0.0;
    for (Index s = 0; s < rule_.node.size(); ++s) average += weight[static_cast<std::size_t>(s)] * rule_.node(s);
    for (Index s = 0; s < rule_.node.size(); ++s) {
      const double apart = rule_.node(s) - average;
      square += weight[static_cast<std::size_t>(s)] * apart * apart;
    }
    noise_mean[i] = centre_(row) + deviation_(row) * average;
    noise_variance[i] = deviation_(row) * deviation_(row) * square;
  }
}

}  // namespace gaussmith
