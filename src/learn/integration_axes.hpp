#pragma once
// Coordinates in which the posterior of the parameters is near N(0, I).

#include "learn/integration_target.hpp"

#include <functional>
#include <utility>
#include <vector>

namespace gaussmith {

/// z = u (linear + square u + cube u^2), rising: bends a coordinate so that the log density falls like -u^2 / 2 along
/// it though it is skewed or its tails are heavy.
struct AxisBend {
  double linear = 1.0, square = 0.0, cube = 0.0;

  [[nodiscard]] double operator()(double u) const { return u * (linear + u * (square + u * cube)); }
  [[nodiscard]] double slope(double u) const { return linear + u * (2.0 * square + u * 3.0 * cube); }
};

/// The least squares fit of a bend to pairs of u and z. As far out as grids go it rises; where the pairs do not allow
/// that, it is drawn towards a straight line.
[[nodiscard]] AxisBend fit_bend(const std::vector<std::pair<double, double>>& pairs);

/// place = origin + root z(u), with u_i >= 0 for one-sided coordinates.
struct IntegrationAxes {
  Vector origin;
  Matrix root;
  std::vector<AxisBend> bends;
  std::vector<bool> one_sided;  ///< The mode lies at a bound of this parameter: its coordinate points inwards.

  [[nodiscard]] Vector place(const Vector& u) const;
  /// log |d place / d u|.
  [[nodiscard]] double log_volume(const Vector& u) const;
  double log_root_volume = 0.0;  ///< log |det root|
};

/// The axes of the curvature at the mode, bent after the log density on them. About 6 fits a parameter; `stop` is asked
/// before each.
[[nodiscard]] IntegrationAxes integration_axes(IntegrationTarget& target, const std::function<bool()>& stop);

}  // namespace gaussmith
