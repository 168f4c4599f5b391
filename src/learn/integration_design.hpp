#pragma once
// Where to put points for integrals over R^d of a density that is near N(0, I), and what they weigh.

#include "gaussmith/types.hpp"

#include <vector>

namespace gaussmith {

/// Whole coordinates of a point of a lattice; the origin is one.
using LatticePoint = std::vector<int>;

/// Points of equal weight. For smooth densities such a rule (in one dimension: the trapezoidal one) converges faster
/// than any power of the step: for N(0, I) and the shortest vector k of the dual lattice the error is near
/// exp(-2 pi^2 |k|^2). One and two dimensions have a cubic lattice; from three on it is the body-centred one, all
/// coordinates even or all odd, which needs 2^((2-d)/2) of the points for the same |k|.
class IntegrationLattice {
 public:
  IntegrationLattice(Index dimension, double fineness);

  [[nodiscard]] double cell() const { return cell_; }  ///< Volume that belongs to a point.
  /// 1 / |k|: the step of the cubic lattice that is as accurate.
  [[nodiscard]] double step() const { return step_; }
  [[nodiscard]] LatticePoint origin() const { return LatticePoint(static_cast<std::size_t>(dimension_), 0); }
  [[nodiscard]] Vector place(const LatticePoint& point) const;
  [[nodiscard]] std::vector<LatticePoint> neighbours(const LatticePoint& point) const;
  /// About how many points lie within a radius of the origin.
  [[nodiscard]] double count_within(double radius) const;

 private:
  Index dimension_;
  double step_, unit_, cell_;
  std::vector<LatticePoint> moves_;
};

/// How fine a lattice is, and how far below its peak, in nats, a density is looked at on it. What lies beyond weighs
/// little, but in more dimensions and with tails heavier than a normal's more than in one.
struct GridPlan {
  double fineness;
  double depth;
};

/// `rough`: the density is not near N(0, I) off the axes, which matters from three dimensions on.
[[nodiscard]] GridPlan grid_plan(Index dimension, double fineness, bool rough);

/// A rule that integrates polynomials of degree five against N(0, I) exactly.
struct CompositeDesign {
  Matrix points;   ///< One a row; the first is the origin.
  Vector weights;  ///< Positive; their sum is one.
};

/// The central composite design of d >= 1 dimensions: the centre with 2/(d+2), 2d points on the axes at radius
/// sqrt(d+2) with 1/(d+2)^2 each, and at the same radius the corners of a cube, or of a fraction of it in which four
/// factors are never confounded, which share d^2/(d+2)^2.
[[nodiscard]] CompositeDesign composite_design(Index dimension);

}  // namespace gaussmith
