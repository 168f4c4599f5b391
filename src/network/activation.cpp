#include "network/activation.hpp"

#include "numerics/elementary.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace gaussmith {

namespace {

constexpr std::size_t lanes = 32;

/// Gauss-Legendre on (-1, 1), the positive half of 16 nodes.
constexpr std::array<double, 8> legendre_node = {0.0950125098376374402, 0.281603550779258913, 0.458016777657227386,
                                                 0.617876244402643748,  0.755404408355003034, 0.865631202387831744,
                                                 0.944575023073232576,  0.989400934991649933};
constexpr std::array<double, 8> legendre_weight = {0.189450610455068496,  0.182603415044923589, 0.169156519395002538,
                                                   0.149595988816576732,  0.124628971255533872, 0.0951585116824927848,
                                                   0.0622535239386478929, 0.0271524594117540949};

/// Var g = 4 [Phi(b) Phi(-b) - 2 T(b, a)] with Owen's T and a = 1 / sqrt(1 + 2 v). As Phi(b) Phi(-b) = 2 T(b, 1), that
/// is (4 / pi) times the integral of exp(-b^2 (1 + t^2) / 2) / (1 + t^2) from a to 1, where nothing cancels.
GAUSSMITH_VECTORISED void activation_chunk(const double* __restrict mean, const double* __restrict variance,
                                           double* __restrict g_mean, double* __restrict g_variance) {
  alignas(64) double square[lanes];
  alignas(64) double half[lanes];
  alignas(64) double sum[lanes];
  for (std::size_t i = 0; i < lanes; ++i) {
    const double b = mean[i] / std::sqrt(1.0 + variance[i]);
    g_mean[i] = 2.0 * elementary::ndtr(b) - 1.0;
    square[i] = -0.5 * b * b;
    // (1 - a) / 2 without cancellation: 1 - a = 2 v a^2 / (1 + a).
    const double a = 1.0 / std::sqrt(1.0 + 2.0 * variance[i]);
    half[i] = variance[i] * a * a / (1.0 + a);
    sum[i] = 0.0;
  }
  for (std::size_t q = 0; q < legendre_node.size(); ++q)
    for (std::size_t i = 0; i < lanes; ++i) {
      const double low = 1.0 - half[i] * (1.0 + legendre_node[q]);
      const double high = 1.0 - half[i] * (1.0 - legendre_node[q]);
      const double low_secant = 1.0 + low * low;
      const double high_secant = 1.0 + high * high;
      sum[i] += legendre_weight[q] * (elementary::exp_bounded(square[i] * low_secant) / low_secant +
                                      elementary::exp_bounded(square[i] * high_secant) / high_secant);
    }
  for (std::size_t i = 0; i < lanes; ++i) g_variance[i] = 4.0 * std::numbers::inv_pi * half[i] * sum[i];
}

}  // namespace

void activation_moments(ConstSpan mean, ConstSpan variance, Span g_mean, Span g_variance) {
  alignas(64) double from[2][lanes] = {};
  alignas(64) double to[2][lanes];
  for (std::size_t first = 0; first < mean.size(); first += lanes) {
    const std::size_t count = std::min(lanes, mean.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      from[0][i] = mean[first + i];
      from[1][i] = variance[first + i];
    }
    activation_chunk(from[0], from[1], to[0], to[1]);
    for (std::size_t i = 0; i < count; ++i) {
      g_mean[first + i] = to[0][i];
      g_variance[first + i] = to[1][i];
    }
  }
}

}  // namespace gaussmith
