#include "learn/integration_design.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace gaussmith {

namespace {

/// Steps in standard deviations: for near-normal densities they leave errors far below those of ending the grid.
double default_step(Index dimension) { return dimension == 1 ? 0.7 : dimension == 2 ? 0.62 : 1.25; }

/// Signs of the factors of a two-level design as masks: factor j has at corner c the sign of the parity of mask_j & c.
/// Masks of which no one to four have the exclusive or zero leave effects of two factors unconfounded with each other.
std::vector<std::uint64_t> factor_masks(Index factors) {
  std::vector<std::uint64_t> masks;
  for (std::uint64_t candidate = 1; static_cast<Index>(masks.size()) < factors; ++candidate) {
    bool free = std::find(masks.begin(), masks.end(), candidate) == masks.end();
    for (std::size_t a = 0; free && a < masks.size(); ++a)
      for (std::size_t b = a + 1; free && b < masks.size(); ++b) {
        free = (masks[a] ^ masks[b]) != candidate;
        for (std::size_t c = b + 1; free && c < masks.size(); ++c) free = (masks[a] ^ masks[b] ^ masks[c]) != candidate;
      }
    if (free) masks.push_back(candidate);
  }
  return masks;
}

}  // namespace

IntegrationLattice::IntegrationLattice(Index dimension, double fineness)
    : dimension_(dimension), step_(default_step(dimension) / fineness) {
  const auto size = static_cast<std::size_t>(dimension);
  const bool centred = dimension > 2;
  // Points of the body-centred lattice are half its edge apart in every coordinate; its dual has |k| = sqrt(2) / edge.
  const double edge = centred ? std::numbers::sqrt2 * step_ : step_;
  unit_ = centred ? 0.5 * edge : edge;
  cell_ = std::pow(edge, static_cast<double>(dimension)) * (centred ? 0.5 : 1.0);
  for (std::size_t i = 0; i < size; ++i)
    for (const int sign : {1, -1}) {
      LatticePoint move(size, 0);
      move[i] = centred ? 2 * sign : sign;
      moves_.push_back(std::move(move));
    }
  if (!centred) return;
  for (std::size_t corner = 0; corner < std::size_t{1} << size; ++corner) {
    LatticePoint move(size);
    for (std::size_t i = 0; i < size; ++i) move[i] = (corner >> i & 1U) != 0 ? -1 : 1;
    moves_.push_back(std::move(move));
  }
}

Vector IntegrationLattice::place(const LatticePoint& point) const {
  Vector out(dimension_);
  for (Index i = 0; i < dimension_; ++i) out(i) = unit_ * point[static_cast<std::size_t>(i)];
  return out;
}

std::vector<LatticePoint> IntegrationLattice::neighbours(const LatticePoint& point) const {
  std::vector<LatticePoint> out = moves_;
  for (LatticePoint& move : out)
    for (std::size_t i = 0; i < point.size(); ++i) move[i] += point[i];
  return out;
}

double IntegrationLattice::count_within(double radius) const {
  const auto d = static_cast<double>(dimension_);
  const double log_ball = 0.5 * d * std::log(std::numbers::pi) - std::lgamma(0.5 * d + 1.0) + d * std::log(radius);
  return std::exp(log_ball) / cell_;
}

GridPlan grid_plan(Index dimension, double fineness, bool rough) {
  const double deeper = 2.0 * std::log2(fineness);
  if (dimension <= 2) return {fineness, std::max(1.0, (dimension == 1 ? 10.0 : 11.0) + deeper)};
  return {rough ? 1.3 * fineness : fineness, std::max(1.0, (rough ? 11.5 : 9.5) + deeper)};
}

CompositeDesign composite_design(Index dimension) {
  const auto d = static_cast<double>(dimension);
  const std::vector<std::uint64_t> masks = factor_masks(dimension);
  const auto corners = static_cast<Index>(std::bit_ceil(masks.back() + 1));
  const Index axial = 2 * dimension;
  CompositeDesign out{Matrix::Zero(1 + axial + corners, dimension), Vector(1 + axial + corners)};
  const double radius = std::sqrt(d + 2.0);
  out.weights(0) = 2.0 / (d + 2.0);
  out.weights.segment(1, axial).setConstant(1.0 / ((d + 2.0) * (d + 2.0)));
  out.weights.tail(corners).setConstant(d * d / ((d + 2.0) * (d + 2.0) * static_cast<double>(corners)));
  for (Index i = 0; i < dimension; ++i) {
    out.points(1 + 2 * i, i) = radius;
    out.points(2 + 2 * i, i) = -radius;
    for (Index c = 0; c < corners; ++c) {
      const bool odd = std::popcount(masks[static_cast<std::size_t>(i)] & static_cast<std::uint64_t>(c)) % 2 != 0;
      out.points(1 + axial + c, i) = (odd ? -radius : radius) / std::sqrt(d);
    }
  }
  return out;
}

}  // namespace gaussmith
