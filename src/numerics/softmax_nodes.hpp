#pragma once
// Nodes for integrals of the softmax and its logarithm over a few Gaussian latents.

#include "numerics/latent_differences.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace gaussmith {

constexpr Index most_classes_by_quadrature = 3;
/// What a rule may take, half a second of work at most.
constexpr double most_quadrature_nodes = 2e6;

/// The trapezoidal rule over up to three classes: calls visit(f, weight) at every node, weights adding up to 1. False,
/// without a call, where it would take too many nodes. No sum of exponentials vanishes while the phases of its terms
/// differ by less than pi, so that integrands are analytic for imaginary parts up to `strip`, and the rule errs by
/// exp(strip^2/2 - 2 pi strip/step) = exp(-28).
template <class Visit>
bool visit_softmax_nodes(const LatentDifferences& differences, Visit visit, double most_nodes = most_quadrature_nodes) {
  constexpr double reach = 7.5, exponent = 28.0, rounding = 1e-14;
  const Matrix directions = differences.directions(rounding);
  const Index axes = directions.cols();
  std::array<double, 2> step{1.0, 1.0};
  std::array<Index, 2> half{0, 0};
  double nodes = 1.0;
  for (Index i = 0; i < axes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double range = directions.col(i).maxCoeff() - directions.col(i).minCoeff();
    const double strip = std::min(std::numbers::pi / range, std::sqrt(2.0 * exponent));
    step[at] = 2.0 * std::numbers::pi * strip / (exponent + 0.5 * strip * strip);
    nodes *= 2.0 * reach / step[at];
    if (nodes > most_nodes) return false;
    half[at] = static_cast<Index>(std::ceil(reach / step[at]));
  }
  const auto weight_of = [](double x) { return std::exp(-0.5 * x * x); };
  double total = 1.0;
  for (std::size_t axis = 0; axis < half.size(); ++axis) {
    double sum = 0.0;
    for (Index i = -half[axis]; i <= half[axis]; ++i) sum += weight_of(static_cast<double>(i) * step[axis]);
    total *= sum;
  }
  Vector f(differences.mean.size());
  for (Index i = -half[0]; i <= half[0]; ++i)
    for (Index k = -half[1]; k <= half[1]; ++k) {
      const double x = static_cast<double>(i) * step[0];
      const double y = static_cast<double>(k) * step[1];
      f = differences.mean;
      if (axes > 0) f += x * directions.col(0);
      if (axes > 1) f += y * directions.col(1);
      visit(f, weight_of(x) * weight_of(y) / total);
    }
  return true;
}

}  // namespace gaussmith
